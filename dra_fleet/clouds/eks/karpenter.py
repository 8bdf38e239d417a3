"""Karpenter on EKS: its release, its limits, and the devices that it predicts on a new node.

Source: https://karpenter.sh/docs/ and https://github.com/aws/karpenter-provider-aws/tree/v1.15.1/pkg/providers
(nvidiadra, drametadata), read on 2026-11-28.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.model.plan import ReleasePlan

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.plan import PoolPlan

NAME: Final = "karpenter"
NAMESPACE: Final = "kube-system"
AUTOSCALER: Final = "Karpenter"
SINCE: Final = (1, 15)
"""The first version that makes nodes for pods with claims."""


def makes_pools(settings: EksClusterSettings) -> bool:
    """Return True if Karpenter makes the nodes of a pool."""
    return any(pool.karpenter for pool in settings.pools.values())


def release(name: str, settings: EksClusterSettings) -> tuple[ReleasePlan, ...]:
    """Return the release of Karpenter in a cluster that the stack creates; an adopted one has its own."""
    if settings.create is None or settings.karpenter is None or not makes_pools(settings):
        return ()
    return (
        ReleasePlan(
            name=NAME,
            driver=NAME,
            chart="oci://public.ecr.aws/karpenter/karpenter",
            version=settings.karpenter,
            repository="",
            namespace=NAMESPACE,
            values={"replicas": 1, "settings": {"clusterName": name, "enableDRA": True}},
        ),
    )


def check_pool(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: EksPoolSettings,
    settings: EksClusterSettings,
    findings: Findings,
) -> None:
    """Check a pool whose nodes Karpenter makes.

    Args:
        at: Path of the pool in the stack file.
        plan: Plan of the pool.
        pool: Settings of the pool.
        settings: Settings of the cluster.
        findings: Collects the problems.
    """
    _check_version(at, settings, findings)
    if plan.min_nodes:
        findings.error(
            *at,
            "nodes",
            "min",
            what="must be 0: Karpenter makes nodes only for pods that need them",
            got=str(plan.min_nodes),
            allowed="0",
            fix="set nodes: {min: 0, …}, or remove karpenter of the pool",
        )
    image = eks_facts().image(pool.image) if isinstance(pool.image, str) and pool.image else None
    others = {
        "efa": pool.efa,
        "placementGroup": pool.placement_group,
        "release": pool.release,
        "image": image is not None and image.system != "al2023",
        "capacity": pool.capacity == "CAPACITY_BLOCK",
        "reservation": pool.reservation,
    }
    for key in (key for key, value in others.items() if value):
        findings.error(
            *at,
            key,
            what="is not supported in a pool whose nodes Karpenter makes",
            fix=f"remove {key}, or karpenter of the pool",
        )


def _check_version(at: tuple[str, ...], settings: EksClusterSettings, findings: Findings) -> None:
    version = settings.karpenter
    numbers = tuple(int(part) for part in (version or "0").split("."))
    exact = 3 if settings.create is not None else 2
    if numbers[:2] >= SINCE and len(numbers) >= exact:
        return
    findings.error(
        *at,
        "karpenter",
        what="requires the version of Karpenter, with dynamic resources, in the cluster's settings",
        got=version or "no version",
        allowed="1.15.0 or later, with all three numbers if the stack creates the cluster",
        fix='set karpenter: "1.15.1" of the cluster',
    )


def predicted_devices(pool: PoolPlan, published: Sequence[NodeDevice]) -> tuple[tuple[NodeDevice, ...], str]:
    """Return the devices that Karpenter predicts on a pool's first node, and why there are none.

    Its table has whole GPUs. It knows that all GPUs of a node have one driver version, so that
    `matchAttribute` can read the version and selectors cannot.

    Args:
        pool: The pool.
        published: Devices that a node publishes.
    """
    facts = eks_facts().karpenter
    if not pool.machine.name.startswith(facts.machines):
        return (), f"{AUTOSCALER} does not know the devices of {pool.machine.name}"
    if pool.sharing.strategy != "exclusive":
        return (), f"{AUTOSCALER} predicts whole GPUs, and the pool has sharing {pool.sharing.strategy}"
    bound = (*facts.attributes, *facts.bound)
    return tuple(
        replace(one, seen=_only(one.seen, facts.attributes), placed=_only(one.placed, bound))
        for one in published
        if one.driver == facts.driver
    ), ""


def _only(device: Mapping[str, Any], attributes: Collection[str]) -> dict[str, Any]:
    known = {key: value for key, value in device["attributes"].items() if key in attributes}
    capacity = {key: value for key, value in device.get("capacity", {}).items() if key == "memory"}
    return {**device, "attributes": known, "capacity": capacity}
