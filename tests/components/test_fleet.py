from pathlib import Path

import pulumi
import pytest
from msgspec.structs import replace

from components.fleet import Outputs, build
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import FleetPlan
from dra_fleet.model.settings import KubeconfigSecret
from dra_fleet.testing import Recorder, Registration, Secret
from tests.golden_files import Golden

PROJECT = Path(__file__).resolve().parents[2]

CLUSTER = "dra-fleet:clouds:ExistingCluster"
JOB = "kubernetes:batch/v1:Job"
RELEASE = "kubernetes:helm.sh/v3:Release"
CLASS = "kubernetes:resource.k8s.io/v1:DeviceClass"
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
NAMESPACE = "kubernetes:core/v1:Namespace"


def lab() -> FleetPlan:
    return make_plan(read_stack_file(PROJECT / "tests" / "data" / "stacks" / "lab.yaml").settings)


def secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


def declare(recorder: Recorder, plan: FleetPlan) -> Outputs:
    return recorder.run(lambda: build(plan, secret))


def objects(recorder: Recorder) -> list[Registration]:
    return [entry for entry in recorder.registrations.values() if entry.type.startswith("kubernetes:")]


def test_a_stack_is_declared_exactly_as_before(recorder: Recorder, golden: Golden) -> None:
    declare(recorder, lab())
    golden("lab_stack.json", recorder.declared())


def test_every_object_names_the_clusters_own_provider(recorder: Recorder) -> None:
    declare(recorder, lab())
    provider = recorder.only("pulumi:providers:kubernetes")
    assert objects(recorder)
    for entry in objects(recorder):
        assert entry.provider == f"{provider.urn}::{provider.name}-id", entry.urn


def test_everything_is_a_child_of_its_cluster_without_a_component_around_it(recorder: Recorder) -> None:
    declare(recorder, lab())
    cluster = recorder.only(CLUSTER)
    others = [entry for entry in recorder.registrations.values() if entry is not cluster]
    assert {entry.parent for entry in others} == {cluster.urn}
    assert all(entry.custom for entry in others)


def test_the_plan_is_declared_whole(recorder: Recorder) -> None:
    plan = lab()
    declare(recorder, plan)
    cluster = plan.clusters[0]
    for type_token, parts in (
        (NAMESPACE, cluster.namespaces),
        (RELEASE, cluster.releases),
        (CLASS, cluster.classes),
        (TEMPLATE, cluster.templates),
        (JOB, cluster.workloads),
    ):
        names = {entry.name for entry in recorder.registrations.values() if entry.type == type_token}
        assert names == {f"{cluster.name}-{part.name}" for part in parts}
        assert names


def test_a_workload_follows_its_templates_name(recorder: Recorder) -> None:
    plan = lab()
    declare(recorder, plan)
    workload = next(item for item in plan.clusters[0].workloads if item.template)
    job = recorder.only(JOB, f"lab-{workload.name}")
    template = recorder.only(TEMPLATE, f"lab-{workload.template}")
    claim = job.inputs["spec"]["template"]["spec"]["resourceClaims"][0]
    assert claim["resourceClaimTemplateName"] == template.inputs["metadata"]["name"]


@pytest.mark.parametrize(
    ("environment", "protected"), [("development", False), ("staging", False), ("production", True)]
)
def test_a_production_cluster_refuses_to_be_destroyed_but_its_parts_may_change(
    environment: str, protected: bool, recorder: Recorder
) -> None:
    declare(recorder, replace(lab(), environment=environment))
    assert bool(recorder.only(CLUSTER).protect) is protected
    assert not any(entry.protect for entry in objects(recorder))


def test_a_missing_secret_stops_the_program_before_any_resource(recorder: Recorder) -> None:
    plan = lab()
    key = "labKubeconfig"
    first = plan.clusters[0]
    second = replace(first, name="second", kubeconfig=KubeconfigSecret(secret=key))
    with pytest.raises(AssertionError, match="the program asked for the secret labKubeconfig"):
        declare(recorder, replace(plan, clusters=(first, second)))
    assert recorder.registrations == {}


def test_exports_are_plain_versioned_and_name_what_a_pod_refers_to(recorder: Recorder) -> None:
    def program() -> Outputs:
        outputs = build(lab(), secret)
        pulumi.ComponentResource("test:index:Exports", "exports").register_outputs(
            {
                "clusters": dict(outputs.clusters),
                "kubeconfigs": pulumi.Output.secret(dict(outputs.kubeconfigs)),
            }
        )
        return outputs

    recorder.run(program)
    exported = recorder.published[recorder.only("test:index:Exports").urn]
    cluster = exported["clusters"]["lab"]
    assert set(cluster) == {
        "cloud",
        "kubernetes",
        "pools",
        "drivers",
        "classes",
        "templates",
        "claims",
        "computeDomains",
        "namespaces",
        "workloads",
    }
    assert cluster["pools"]["h100"] == {"machine": "hgx-h100-8", "minNodes": 1, "maxNodes": 1}
    template = recorder.only(TEMPLATE, "lab-single-gpu").inputs["metadata"]
    assert cluster["templates"]["single-gpu"] == {
        "name": template["name"],
        "namespace": template["namespace"],
    }
    assert exported["kubeconfigs"] == Secret({})
