"""Node pools of AKS: the machine, the labels and taints of its nodes, and what is wrong with a pool alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.labels import SPOT
from dra_fleet.clouds.aks.names import physical_name
from dra_fleet.clouds.common.machines import check_sharing, find_machine, isolation, taints_of
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.labels import EVICTION, GPU_PRESENT, MIG_CONFIG
from dra_fleet.drivers.nvidia.mig_config import config_name
from dra_fleet.drivers.nvidia.sharing_settings import MigSharing
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.labels import POOL
from dra_fleet.model.plan import PoolPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.aks.settings import AksClusterSettings, AksMachine, AksPoolSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.hardware.models import Machine

_RESERVED = ("kubernetes.azure.com/", "kubernetes.io/", "k8s.io/")
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
    check_sharing(at, machine, pool.sharing, findings)
    ours = _labels(name, pool, machine)
    _check_labels(at, pool, ours, findings)
    taints = taints_of(pool)
    if pool.spot:
        taints = (*taints, Taint(key=SPOT, value="spot", effect="NoSchedule"))
    return PoolPlan(
        name=name,
        machine=machine,
        min_nodes=pool.nodes.min,
        max_nodes=pool.nodes.max,
        labels=dict(sorted({**pool.labels, **ours}.items())),
        taints=taints,
        gpu_driver="host" if pool.gpu_driver == "aks" else "operator",
        sharing=pool.sharing,
        isolation=isolation(machine, pool.sharing),
    )


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


def _labels(name: str, pool: AksPoolSettings, machine: Machine) -> dict[str, str]:
    labels = {POOL: name}
    if machine.gpus:
        labels[GPU_PRESENT] = "true"
        if pool.gpu_driver == "operator":
            labels[EVICTION] = "true"
    if isinstance(pool.sharing, MigSharing) and machine.gpu is not None:
        labels[MIG_CONFIG] = config_name(nvidia_facts.gpus()[machine.gpu], pool.sharing.layout)
    if pool.spot:
        labels[SPOT] = "spot"
    return labels


def _check_labels(
    at: tuple[str, ...], pool: AksPoolSettings, ours: dict[str, str], findings: Findings
) -> None:
    for key, value in sorted(pool.labels.items()):
        if key in ours and ours[key] != value:
            what = (
                "must be true, or the DRA driver's plugin does not run on the pool's nodes"
                if key == GPU_PRESENT
                else "is a label this program sets itself on every node of the pool"
            )
            findings.error(
                *at, "labels", key, what=what, got=value, allowed=ours[key], fix=f"remove {key} from labels"
            )
        elif key.startswith(_RESERVED):
            findings.error(
                *at,
                "labels",
                key,
                what="has a prefix that belongs to AKS or Kubernetes; Azure refuses it",
                got=key,
                fix="choose a prefix of your own",
            )
