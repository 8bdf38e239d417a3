from contextlib import nullcontext
from typing import Any

import pulumi
import pytest

import dra_fleet as dra
from dra_fleet.testing import Recorder
from tests.components.program.cluster_programs import lab, template
from tests.components.program.test_program_clusters import aks, eks, nvidia

RELEASE = "kubernetes:helm.sh/v3:Release"
QUOTA: dict[str, Any] = {"namespace": "ml", "nominal_quota": {"gpus": 4}}
KUEUE: dict[str, Any] = {"version": "0.19.0", "device_class_mappings": {"gpus": ["gpu.nvidia.com"]}}


def test_components_take_name_args_and_opts(recorder: Recorder) -> None:
    def program() -> None:
        cluster: Any = lab()
        positional: Any = dra.DeviceClass
        positional("big", {"cluster": cluster, "driver": "nvidia"}, pulumi.ResourceOptions(protect=True))

    recorder.run(program)
    assert recorder.only("kubernetes:resource.k8s.io/v1:DeviceClass").protect is True


def test_gpu_operator_is_released_before_the_driver(recorder: Recorder) -> None:
    recorder.preview = True

    def program() -> None:
        cluster = aks()
        dra.GpuOperator("operator", cluster=cluster, version="v25.10.0")
        dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")

    recorder.run(program)
    operator = recorder.only(RELEASE, "studio-operator")
    assert operator.inputs["chart"] == "gpu-operator"
    assert operator.urn in recorder.only(RELEASE, "studio-nvidia").dependencies


def test_queue_installs_kueue_and_another_one_shares_it(recorder: Recorder) -> None:
    def program() -> dra.Queue:
        cluster = lab()
        nvidia(cluster)
        dra.Queue("team-a", cluster=cluster, **QUOTA, **KUEUE)
        return dra.Queue("team-b", cluster=cluster, **QUOTA)

    made = recorder.run(program)
    assert made.labels() == {"kueue.x-k8s.io/queue-name": "team-b"}
    release = recorder.only(RELEASE, "lab-kueue")
    queues = [entry for entry in recorder.registrations.values() if entry.type.endswith(":ClusterQueue")]
    assert sorted(entry.name for entry in queues) == ["lab-team-a", "lab-team-b"]
    assert all(release.urn in entry.dependencies for entry in queues)


def test_first_queue_needs_the_mappings(recorder: Recorder) -> None:
    def program() -> None:
        cluster = lab()
        nvidia(cluster)
        dra.Queue("team-a", cluster=cluster, version="0.19.0", **QUOTA)

    with pytest.raises(pulumi.RunError, match=r"^Queue team-a: device_class_mappings is required"):
        recorder.run(program)


def test_demand_of_a_queue_is_proved_by_its_quota(recorder: Recorder) -> None:
    def program() -> None:
        single = template()
        queue = dra.Queue("team-a", cluster=single.cluster, **QUOTA, **KUEUE)
        dra.Demand(single, replicas=5, queue=queue)

    with pytest.raises(pulumi.RunError, match=r"^Demand single: "):
        recorder.run(program)


def test_compute_domain_gives_pods_a_channel(recorder: Recorder) -> None:
    recorder.preview = True

    def program() -> dra.ComputeDomain:
        bought = {
            "capacity": "CAPACITY_BLOCK",
            "reservation": "cr-0123456789abcdef0",
            "release": "1.35.2-20260415",
        }
        pool: Any = {
            "machine": "p6e-gb200.36xlarge",
            "min": 2,
            "max": 2,
            "zones": ["us-east-1a"],
            "options": bought,
        }
        cluster = eks(pools={"gb200": pool})
        dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")
        return dra.ComputeDomain("pretrain", cluster=cluster, namespace="ml")

    domain = recorder.run(program)
    made = recorder.only("kubernetes:resource.nvidia.com/v1beta1:ComputeDomain")
    name = made.inputs["spec"]["channel"]["resourceClaimTemplate"]["name"]
    assert domain.pod_claim().resource_claim_template_name == name
    assert recorder.only(RELEASE).urn in made.dependencies


@pytest.mark.parametrize(("least", "refused"), [(8, ""), (9, "never: single: 9 x 1 devices are requested")])
def test_demand_of_a_gang_is_proved_for_the_pods_that_it_needs(
    recorder: Recorder, least: int, refused: str
) -> None:
    def program() -> None:
        cluster = lab(kubernetes_version="1.37", feature_gates=["GenericWorkload"])
        dra.Demand(template(cluster), replicas=9, gang="native", min_count=least)

    with pytest.raises(pulumi.RunError, match=refused) if refused else nullcontext():
        recorder.run(program)


def test_demand_of_a_gang_requires_the_feature_gate(recorder: Recorder) -> None:
    def program() -> None:
        dra.Demand(template(lab(kubernetes_version="1.37")), replicas=2, gang="native")

    with pytest.raises(pulumi.RunError, match="requires feature gate GenericWorkload"):
        recorder.run(program)
