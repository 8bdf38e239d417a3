import pulumi
import pytest

from components.clouds.existing.cluster import ExistingCluster, ExistingClusterArgs, usable
from dra_fleet.model.settings import StackOutput
from dra_fleet.testing import Recorder, Registration, Secret

KUBECONFIG = "apiVersion: v1\nkind: Config\nclusters: [{name: lab}]\ncontexts: [{name: lab}]\n"


def declare(recorder: Recorder, args: ExistingClusterArgs) -> tuple[ExistingCluster, Registration]:
    cluster = recorder.run(lambda: ExistingCluster("lab", args))
    return cluster, recorder.only("pulumi:providers:kubernetes")


def test_a_context_of_the_usual_places_leaves_no_path_in_the_state(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/user/config")
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
    source = StackOutput(stack="org/infra/prod", output="kubeconfig")
    args = ExistingClusterArgs(kubernetes="1.36", source=source)
    _, provider = declare(recorder, args)
    assert provider.inputs["kubeconfig"] == Secret(KUBECONFIG)
    reference = recorder.only("pulumi:pulumi:StackReference")
    assert reference.name == "lab-reference"
    assert reference.inputs["name"] == "org/infra/prod"


@pytest.mark.parametrize(
    "text",
    ["", "kubeconfig of the lab", "kind: Config\nclusters: []\ncontexts: []\n", "a: [", "- clusters\n"],
)
def test_an_output_that_is_no_kubeconfig_is_refused_by_name_and_not_shown(text: str) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        usable(text, "lab", StackOutput(stack="org/infra/prod", output="network"))
    assert str(refused.value) == (
        "cluster lab: (output network of stack org/infra/prod) holds no kubeconfig; "
        "allowed: a kubeconfig as text, with clusters and contexts; "
        "fix: name the output that holds it, see `pulumi stack output --stack org/infra/prod`"
    )


def test_the_provider_is_replaced_only_for_another_cluster_or_context(recorder: Recorder) -> None:
    _, provider = declare(recorder, ExistingClusterArgs(kubernetes="1.36", context="lab", file="a"))
    assert provider.inputs["clusterIdentifier"] == "lab/lab"


def test_intent_is_plain_so_that_policies_can_check_it(recorder: Recorder) -> None:
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
