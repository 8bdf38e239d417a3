import pytest

from dra_fleet.proof.prove import prove
from tests.clouds.ack.ack_fleets import a10, cluster
from tests.fleet.plan.plan_helpers import planned


@pytest.mark.parametrize(
    ("machine", "gpus", "part"),
    [
        ("ecs.vgn7i-vws-m4.xlarge", 1, "1/6"),
        ("ecs.sgn7i-vws-m8.4xlarge", 1, "1/3"),
        ("ecs.sgn7i-vws-m2s.xlarge", 1, "1/12"),
        ("ecs.vgn6i-m4-vws.xlarge", 1, "1/4"),
        ("ecs.vgn6i-m8-vws.2xlarge", 1, "1/2"),
        ("ecs.vgn7i-vws-m24.7xlarge", 1, None),
        ("ecs.gn8v-tee-8x.48xlarge", 8, None),
        ("ecs.ebmgn7ex.32xlarge", 8, None),
    ],
)
def test_a_pod_gets_what_the_machine_has(machine: str, gpus: int, part: str | None) -> None:
    fleet = a10()
    cluster(fleet)["pools"]["gpu"] = {"machine": machine, "nodes": {"min": 1, "max": 1}}
    cluster(fleet)["drivers"]["nvidia"] = {"version": "0.5.0"}
    fleet["claims"] = {"all": {"requests": {"gpus": {"class": "gpu.nvidia.com", "count": gpus}}}}
    fleet["workloads"] = {"train": {"cluster": "asia", "claim": "all", "copies": 1}}
    plan = planned(fleet)
    [workload] = prove(plan).workloads
    assert workload.word == "guaranteed"
    assert plan.clusters[0].pools[0].machine.gpu_fraction == part
