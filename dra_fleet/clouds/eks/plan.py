"""Pools of EKS: machines, labels, taints and names, and drivers' chart values beyond the drivers' own."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.clouds.common.machines import (
    ReservedLabels,
    check_devices,
    check_labels,
    find_machine,
    identity_of,
    labels_of,
    planned,
)
from dra_fleet.clouds.eks import CLOUD
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.karpenter import AUTOSCALER
from dra_fleet.clouds.eks.settings import OwnImage
from dra_fleet.drivers.common.placement import node_affinity, node_label
from dra_fleet.drivers.common.values import merged
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.eks.facts import EksImage
    from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan


CUSTOM = "CUSTOM"
"""The AMI type of a custom image."""
NVL_DOMAIN = "NVL72"
"""The fabric of machines whose GPUs reach those of other machines over NVLink."""
_RESERVED = ReservedLabels(
    owner="EKS",
    refuser="AWS",
    prefixes=("eks.amazonaws.com/", "k8s.aws/", "kubernetes.io/", "k8s.io/", "node.kubernetes.io/"),
)
_STEM, _HASH = 50, 8
"""A node group's name may have 63 characters."""
_DESCRIBE = (
    "describe it in the stack file: machine: {instanceType: p5.48xlarge, gpu: H100-SXM5-80GB, gpus: 8, "
    "cpus: 192, memory: 2048}"
)


def plan_eks_pool(
    at: tuple[str, ...], name: str, settings: EksClusterSettings, findings: Findings
) -> PoolPlan | None:
    """Return the plan of a node group, or None if its machine was rejected."""
    pool = settings.pools[name]
    known = CLOUD.machines
    machine = find_machine(at, pool.machine, known, _DESCRIBE, findings=findings)
    if machine is None:
        return None
    if not isinstance(pool.machine, str):
        described = {"name": pool.machine.instance_type, "cloud": "eks", "arch": pool.machine.arch}
        machine = machine.model_copy(update=described)
    check_devices(at, machine, pool, findings)
    cards = drivers.traits(machine).network_cards
    operated = settings.gpu_operator is not None
    own = {POOL: name, **labels_of(machine, pool, operated=operated, is_found=labels_gpus(machine, pool))}
    check_labels(at, pool, own, findings, machine=machine, reserved=_RESERVED, operated=operated)
    plan = planned(name, pool, machine, {**pool.labels, **own})
    return replace(
        plan,
        network_cards=cards.count if pool.efa and cards else 0,
        autoscaler=AUTOSCALER if pool.karpenter else "",
    )


def ami_type(machine: Machine, pool: EksPoolSettings) -> str:
    """Return the AMI type of a pool: AL2023 by default, with NVIDIA's driver for GPUs."""
    if isinstance(pool.image, OwnImage):
        return CUSTOM
    arch = "ARM_64" if machine.arch == "arm64" else "x86_64"
    return pool.image or f"AL2023_{arch}_{'NVIDIA' if machine.gpus else 'STANDARD'}"


def image_of(machine: Machine, pool: EksPoolSettings) -> EksImage | None:
    """Return the catalogue entry of the pool's AMI type; None for a custom image."""
    return eks_facts().image(ami_type(machine, pool))


def labels_gpus(machine: Machine, pool: EksPoolSettings) -> bool:
    """Return True if the pool's image labels GPU nodes, as AL2023 and images built on it do."""
    image = image_of(machine, pool)
    return image is None or image.labels_gpus


def zones_of(pool: EksPoolSettings, settings: EksClusterSettings) -> tuple[str, ...]:
    """Return the zones of a pool's subnets."""
    return tuple(sorted(pool.zones)) or settings.zones()


def placed_together(pool: EksPoolSettings) -> bool:
    """Return True if the pool's nodes are in a cluster placement group."""
    return pool.efa if pool.placement_group is None else pool.placement_group


def node_group_name(plan: PoolPlan, pool: EksPoolSettings, settings: EksClusterSettings) -> str:
    """Return a node group name that changes with every immutable property; a new group replaces the old."""
    identity = (
        plan.name,
        plan.machine.name,
        ami_type(plan.machine, pool),
        pool.capacity,
        ",".join(zones_of(pool, settings)),
        *identity_of(plan),
    )
    digest = hashlib.sha256("\n".join(identity).encode()).hexdigest()
    return f"{plan.name[:_STEM]}-{digest[:_HASH]}"


SYSTEM_POOL = "system"


def eks_driver_values(
    driver: Driver, release: Release, theirs: ChartValues, *, discovers_features: bool
) -> ChartValues:
    """Return the chart values that a driver needs on EKS.

    Args:
        driver: the driver.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
        discovers_features: whether the GPU Operator's feature discovery labels the nodes' NVLink fabric.
    """
    fabric = driver.fabric_values(release, NVL_DOMAIN, is_labelled=discovers_features)
    chosen: dict[str, Any] = merged(fabric, driver.placement_values(release))
    if driver.has_controller(merged(fabric, theirs), default=False):
        controller: dict[str, Any] = {
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
            "nodeSelector": {POOL: SYSTEM_POOL},
        }
        if release.version.controller_needs_control_plane:
            # EKS has no control-plane nodes, and Helm lays values over the chart's own affinity.
            controller["affinity"] = node_affinity([[node_label(POOL, SYSTEM_POOL)]])
        chosen["controller"] = controller
    return chosen


def eks_arguments(settings: EksClusterSettings) -> Mapping[str, ChartValues]:
    """Return what settings pass on to the cloud unchanged, by pool; "" is the cluster."""
    create = settings.create
    if create is None:
        return {}
    found: dict[str, object] = {}
    if create.encryption_key is not None:
        found["encryptionConfig"] = {"provider": {"keyArn": create.encryption_key}, "resources": ["secrets"]}
    if create.logs:
        found["enabledClusterLogTypes"] = list(create.logs)
    return {"": found}
