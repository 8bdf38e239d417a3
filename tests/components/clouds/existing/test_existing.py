"""Existing clusters: three ways in, no secret in clear and nothing of this machine in the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
import pytest

from components.clouds.existing.cluster import ExistingCluster, ExistingClusterArgs, kubeconfig_text
from tests.pulumi_recorder import Secret

if TYPE_CHECKING:
    from tests.pulumi_recorder import Recorder, Registration

KUBECONFIG = "apiVersion: v1\nkind: Config\n"


def declare(recorder: Recorder, args: ExistingClusterArgs) -> tuple[ExistingCluster, Registration]:
    cluster = recorder.run(lambda: ExistingCluster("lab", args))
    return cluster, recorder.only("pulumi:providers:kubernetes")


def test_a_context_of_the_usual_places_leaves_no_path_in_the_state(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/somebody/config")
    cluster, provider = declare(recorder, ExistingClusterArgs(kubernetes="1.36", context="lab"))
    assert provider.inputs["kubeconfig"] == ""
    assert provider.inputs["context"] == "lab"
    assert cluster.kubeconfig is None


def test_a_file_is_named_as_it_was_written(recorder: Recorder) -> None:
    args = ExistingClusterArgs(kubernetes="1.36", context="lab", file="~/clusters/lab.yaml")
    _, provider = declare(recorder, args)
    assert provider.inputs["kubeconfig"] == "~/clusters/lab.yaml"


def test_a_kubeconfig_given_as_content_is_secret_everywhere(recorder: Recorder) -> None:
    args = ExistingClusterArgs(kubernetes="1.36", content=KUBECONFIG)
    _, provider = declare(recorder, args)
    assert provider.inputs["kubeconfig"] == Secret(KUBECONFIG)
    assert recorder.published[recorder.only(ExistingCluster.TOKEN).urn]["kubeconfig"] == Secret(KUBECONFIG)


def test_another_stacks_output_is_secret_even_if_it_was_exported_plain(recorder: Recorder) -> None:
    recorder.outputs["pulumi:pulumi:StackReference"] = {"outputs": {"kubeconfig": KUBECONFIG}}
    args = ExistingClusterArgs(kubernetes="1.36", stack="org/infra/prod", output="kubeconfig")
    _, provider = declare(recorder, args)
    assert provider.inputs["kubeconfig"] == Secret(KUBECONFIG)
    reference = recorder.only("pulumi:pulumi:StackReference")
    assert reference.name == "lab-reference"
    assert reference.inputs["name"] == "org/infra/prod"


@pytest.mark.parametrize("value", [None, {"apiVersion": "v1"}])
def test_a_stack_without_that_output_is_refused_by_name(value: object) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        kubeconfig_text(value, "lab", "org/infra/prod", "kubeconfig")
    assert str(refused.value) == (
        "cluster lab: stack org/infra/prod exports no text named kubeconfig; "
        "allowed: the name of an output that holds a kubeconfig; "
        "fix: look with `pulumi stack output --stack org/infra/prod`"
    )


def test_a_kubeconfig_among_those_that_another_stack_exports_is_taken_by_its_key() -> None:
    exported = {"blue": "apiVersion: v1", "green": 1}
    assert kubeconfig_text(exported, "lab", "org/infra/prod", "kubeconfigs", "blue") == "apiVersion: v1"
    for value, key in ((exported, "green"), (exported, "red"), ("apiVersion: v1", "blue"), (None, "blue")):
        with pytest.raises(pulumi.RunError) as refused:
            kubeconfig_text(value, "lab", "org/infra/prod", "kubeconfigs", key)
        assert str(refused.value) == (
            f"cluster lab: stack org/infra/prod exports no text named kubeconfigs with the key {key}; "
            "allowed: the name of an output that holds a kubeconfig; "
            "fix: look with `pulumi stack output --stack org/infra/prod`"
        )


def test_the_provider_is_replaced_only_for_another_cluster_or_context(recorder: Recorder) -> None:
    _, provider = declare(recorder, ExistingClusterArgs(kubernetes="1.36", context="lab", file="a"))
    assert provider.inputs["clusterIdentifier"] == "lab/lab"


def test_intent_is_plain_so_that_policies_can_judge_it(recorder: Recorder) -> None:
    declare(recorder, ExistingClusterArgs(kubernetes="1.36", context="lab"))
    component = recorder.only(ExistingCluster.TOKEN)
    assert component.inputs == {"cloud": "existing", "kubernetes": "1.36", "context": "lab"}


@pytest.mark.parametrize("variable", ["PULUMI_K8S_DELETE_UNREACHABLE", "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE"])
def test_the_environment_does_not_change_the_provider(
    variable: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "true")
    _, provider = declare(recorder, ExistingClusterArgs(kubernetes="1.36", context="lab"))
    assert provider.inputs["deleteUnreachable"] == "false"
    assert provider.inputs["skipUpdateUnreachable"] == "false"
