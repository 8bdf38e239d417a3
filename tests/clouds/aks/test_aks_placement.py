from collections.abc import Callable
from typing import Any

import pytest

from dra_fleet.drivers.common.placement import PluginPods
from dra_fleet.drivers.nvidia.driver import DRIVER, after_partitioning
from dra_fleet.drivers.nvidia.resources import DIVIDABLE
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels
from dra_fleet.kubernetes.scheduling.taints import Toleration, untolerated_taints
from tests.clouds.aks.aks_fleets import cluster, mig, pool, vgpu
from tests.fleet.plan.plan_helpers import planned, refused
from tests.fleet.plan.tables import Case, table

OPERATOR = "clusters.studio.gpuOperator.values"
STATE = "nvidia.com/mig.config.state"
CUT = {"nvidia.com/gpu.present": "true", "dra-fleet/pool": "gpu"}
USUAL = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def one(key: str, operator: str, *requested: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(requested)}


PRESENT = one("nvidia.com/gpu.present", "In", "true")


def may_start_early(selector: object, written: object) -> bool:
    values = {"kubeletPlugin": {"nodeSelector": selector, "affinity": written}}
    pods = PluginPods.of(DRIVER, DRIVER.facts.versions[-1], values)
    return pods.may_start_early(some_labels(CUT), DIVIDABLE.progress)


@table(__file__, mig, vgpu)
def test_plan(case: Case) -> None:
    case.verify()


@pytest.mark.parametrize(
    "written",
    [
        affinity(PRESENT),
        affinity(PRESENT, one(STATE, "Exists")),
        affinity(PRESENT, one(STATE, "NotIn", "failed")),
        affinity(PRESENT, one(STATE, "In", "success", "pending")),
        affinity(one("feature.node.kubernetes.io/pci-10de.present", "In", "true")),
        affinity(one("example.com/a", "DoesNotExist")),
        {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        {},
        None,
        "nonsense",
    ],
)
def test_an_affinity_that_a_node_can_meet_before_its_partitions_starts_early(written: object) -> None:
    assert may_start_early({}, written)


@pytest.mark.parametrize(
    ("selector", "written"),
    [
        ({}, after_partitioning(["gpu"])),
        ({}, affinity(one(STATE, "In", "success"))),
        ({STATE: "success"}, affinity(PRESENT)),
        ({"dra-fleet/pool": "other"}, None),
        ({}, affinity(one("dra-fleet/pool", "NotIn", "gpu"))),
        ({}, affinity(one("dra-fleet/pool", "DoesNotExist"))),
    ],
)
def test_an_affinity_that_waits_or_leaves_the_pool_out_does_not(
    selector: dict[str, str], written: object
) -> None:
    assert not may_start_early(selector, written)


@pytest.mark.parametrize("version", ["25.8.1", "0.5.0"])
def test_the_usual_taint_of_gpus_is_tolerated_on_every_chart(version: str) -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"]["nvidia"]["version"] = version
    pool(fleet)["taints"] = [USUAL]
    [nvidia] = planned(fleet).clusters[0].releases
    plugin = nvidia.values.get("kubeletPlugin", {})
    default = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert plugin.get("tolerations", default if version == "0.5.0" else []) == default


@pytest.mark.parametrize(
    "tolerations",
    [
        [{"operator": "Exists"}],
        [{"key": "sku", "operator": "Exists"}],
        [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}],
        [{"key": "sku", "value": "gpu"}],
    ],
)
def test_a_taint_is_tolerated_in_each_way_of_kubernetes(tolerations: list[dict[str, str]]) -> None:
    [pool, *_] = planned(mig()).clusters[0].pools
    assert untolerated_taints(pool.taints, map(Toleration.of, tolerations)) == []


ROOT_MOUNT = (
    "is mounted at its own path into the pods that wait for the GPU driver, and no container starts with a "
    "mount on its root: partitions, labels and devices would never come"
)


@pytest.mark.parametrize(
    ("fleet", "folder", "what"),
    [
        (vgpu, "/", ROOT_MOUNT),
        (mig, "/", ROOT_MOUNT),
        (mig, "/opt/gpu", "is not where the DRA driver looks for the GPU driver that the operator installs"),
    ],
)
def test_the_operator_mounts_no_folder_on_a_container_s_root(
    fleet: Callable[[], dict[str, Any]], folder: str, what: str
) -> None:
    broken = fleet()
    values = {"hostPaths": {"driverInstallDir": folder}}
    cluster(broken)["gpuOperator"] = {"version": "v25.10.0", "values": values}
    assert refused(broken) == {
        f"{OPERATOR}.hostPaths.driverInstallDir": f"{what}\n  got: {folder}\n  allowed: /run/nvidia/driver\n"
        "  fix: remove it: that is the chart's default, also if the host has the GPU driver"
    }
