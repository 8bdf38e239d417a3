import pytest

from components.claim import ClaimTemplate, ClaimTemplateArgs
from components.core.identity import Identity
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.testing import Recorder

TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"


def spec(device_class: str = "gpu", count: int = 1) -> ClaimSpec:
    exactly = {"deviceClassName": device_class, "count": count}
    return ClaimSpec.from_object({"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}})


def declare(recorder: Recorder, content: ClaimSpec, *, external: bool = False) -> ClaimTemplate:
    args = ClaimTemplateArgs(
        name="single-gpu",
        namespace="ml",
        spec=content,
        external=external,
        identity=Identity(owner="ml-platform"),
    )
    return recorder.run(lambda: ClaimTemplate("lab-single-gpu", args))


def test_the_name_carries_a_hash_of_the_spec(recorder: Recorder) -> None:
    template = declare(recorder, spec())
    name = recorder.only(TEMPLATE).inputs["metadata"]["name"]
    assert name.startswith("single-gpu-")
    assert len(name) == len("single-gpu-") + 8
    assert recorder.value(template.metadata.name) == name


@pytest.mark.parametrize("changed", [spec(count=2), spec("other")])
def test_another_spec_is_another_name_and_the_same_spec_the_same(
    changed: ClaimSpec, recorder: Recorder
) -> None:
    declare(recorder, spec())
    first = recorder.only(TEMPLATE).inputs["metadata"]["name"]
    recorder.registrations.clear()
    declare(recorder, spec())
    assert recorder.only(TEMPLATE).inputs["metadata"]["name"] == first
    recorder.registrations.clear()
    declare(recorder, changed)
    assert recorder.only(TEMPLATE).inputs["metadata"]["name"] != first


def test_a_changed_spec_creates_the_replacement_before_the_old_template_is_deleted(
    recorder: Recorder,
) -> None:
    declare(recorder, spec())
    template = recorder.only(TEMPLATE)
    assert template.replace_on_changes == ("spec",)
    assert not template.delete_before_replace


def test_an_external_template_keeps_its_name_and_is_deleted_first(recorder: Recorder) -> None:
    declare(recorder, spec(), external=True)
    template = recorder.only(TEMPLATE)
    assert template.inputs["metadata"]["name"] == "single-gpu"
    assert template.replace_on_changes == ("spec",)
    assert template.delete_before_replace
