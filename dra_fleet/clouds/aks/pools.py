"""Node pools of AKS: the machine, the labels and taints of its nodes, and what is wrong with a pool alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.labels import SPOT
from dra_fleet.clouds.aks.names import physical_name
from dra_fleet.clouds.common.labels import ReservedLabels, check_labels
from dra_fleet.clouds.common.machines import check_devices, find_machine, identity_of, labels_of, planned
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.aks.settings import AksClusterSettings, AksMachine, AksPoolSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan

_RESERVED = ReservedLabels(
    owner="AKS", refuser="Azure", prefixes=("kubernetes.azure.com/", "kubernetes.io/", "k8s.io/")
)
_SHAPE = "gpu: A100-PCIE-80GB, gpus: 1, cpus: 24, memory: 220"


def plan_aks_pool(
    at: tuple[str, ...], name: str, settings: AksClusterSettings, findings: Findings
) -> PoolPlan | None:
    """The plan of a pool, or None after its machine was refused."""
    pool = settings.pools[name]
    known = CLOUD.machines
    machine = find_machine(at, pool.machine, known, _describe(pool.machine), findings=findings)
    if machine is None:
        return None
    if not isinstance(pool.machine, str):
        machine = _described(machine, pool.machine, known)
    check_devices(at, machine, pool, findings)
    operated = settings.gpu_operator is not None
    by_operator = pool.gpu_driver == "operator"
    ours = {POOL: name, **labels_of(machine, pool, by_operator=by_operator, operated=operated)}
    if pool.spot:
        ours[SPOT] = "spot"
    check_labels(at, pool, ours, findings, machine=machine, reserved=_RESERVED, operated=operated)
    taints = [Taint(key=SPOT, value="spot", effect="NoSchedule")] if pool.spot else []
    driver = "host" if pool.gpu_driver == "aks" else "operator"
    return planned(name, pool, machine, {**pool.labels, **ours}, taints=taints, gpu_driver=driver)


def agent_pool_name(plan: PoolPlan, pool: AksPoolSettings) -> str:
    """The pool's name in Azure. It changes with what AKS cannot change: a new pool replaces the old."""
    return physical_name(
        "agentPool",
        plan.name,
        plan.machine.name,
        pool.gpu_driver,
        pool.os_sku,
        ",".join(pool.zones),
        str(pool.spot),
        pool.capacity_reservation_group or "",
        pool.gpu_instance_profile or "",
        *identity_of(plan),
    )


def _describe(wanted: str | AksMachine) -> str:
    size = (
        wanted if isinstance(wanted, str) and wanted.startswith("Standard_") else "Standard_NC24ads_A100_v4"
    )
    return f"describe it in the stack file, with its own figures: machine: {{vmSize: {size}, {_SHAPE}}}"


def _described(machine: Machine, wanted: AksMachine, known: Mapping[str, Machine]) -> Machine:
    """A machine of the stack file; its GPU is a part of one where the model is a vGPU's."""
    fractions = (item.gpu_fraction for item in known.values() if item.gpu == wanted.gpu)
    found = {
        "name": wanted.vm_size,
        "cloud": "aks",
        "gpu_fraction": next((fraction for fraction in fractions if fraction), None),
    }
    return machine.model_copy(update=found)
