from typing import Any

import pytest

from components.compute_domain import ComputeDomain, ComputeDomainArgs
from components.core.identity import Identity
from dra_fleet.testing import Recorder, Registration

DOMAIN = "kubernetes:resource.nvidia.com/v1beta1:ComputeDomain"


def declare(recorder: Recorder, **changed: Any) -> tuple[ComputeDomain, Registration]:
    recorder.registrations.clear()
    given: dict[str, Any] = {
        "num_nodes": 0,
        "allocation_mode": "Single",
        "template": "pretrain-channel",
        "external": False,
        **changed,
    }
    args = ComputeDomainArgs(name="pretrain", namespace="ml", identity=Identity(owner="ml"), **given)
    made = recorder.run(lambda: ComputeDomain("train-pretrain", args))
    return made, recorder.only(DOMAIN)


def test_the_number_of_nodes_is_said_even_if_it_is_none(recorder: Recorder) -> None:
    made, domain = declare(recorder)
    template = recorder.value(made.template)
    assert domain.inputs["spec"] == {
        "numNodes": 0,
        "channel": {"resourceClaimTemplate": {"name": template}, "allocationMode": "Single"},
    }
    assert domain.inputs["metadata"]["namespace"] == "ml"
    assert domain.inputs["metadata"]["labels"]["dra-fleet/owner"] == "ml"


def test_a_driver_without_the_field_is_not_reported_a_mode(recorder: Recorder) -> None:
    _, domain = declare(recorder, allocation_mode=None)
    assert "allocationMode" not in domain.inputs["spec"]["channel"]


def test_domain_and_template_carry_the_same_hash_of_the_spec(recorder: Recorder) -> None:
    made, domain = declare(recorder)
    name = domain.inputs["metadata"]["name"]
    assert recorder.value(made.metadata["name"]) == name
    assert name.removeprefix("pretrain-") == recorder.value(made.template).removeprefix("pretrain-channel-")


@pytest.mark.parametrize("changed", [{"num_nodes": 2}, {"allocation_mode": "All"}])
def test_a_changed_spec_creates_the_new_domain_before_the_old_one_is_deleted(
    changed: dict[str, Any], recorder: Recorder
) -> None:
    first, _ = declare(recorder)
    before = recorder.value(first.template)
    second, domain = declare(recorder, **changed)
    assert recorder.value(second.template) != before
    assert domain.replace_on_changes == ("spec",)
    assert not domain.delete_before_replace


def test_one_whose_template_others_use_keeps_its_names_and_is_deleted_first(recorder: Recorder) -> None:
    made, domain = declare(recorder, external=True, template="imex")
    assert (domain.inputs["metadata"]["name"], recorder.value(made.template)) == ("pretrain", "imex")
    assert domain.delete_before_replace
