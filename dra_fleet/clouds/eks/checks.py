"""What is wrong with an EKS cluster as a whole, told before AWS is asked for anything.

Source: https://docs.aws.amazon.com/eks/latest/userguide/ (device management, Capacity Blocks, UltraServers,
node images) and https://karpenter.sh/docs/ (dynamic resources).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds, drivers
from dra_fleet.clouds.common.machines import is_divided
from dra_fleet.clouds.common.mig_classes import check_mig_classes
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.images import check_image
from dra_fleet.clouds.eks.plan import placed_together, zones_of
from dra_fleet.drivers.common.host_root import check_root
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.operators import how_to_ask
from dra_fleet.kubernetes.scheduling.taints import tolerations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan

_SOON_DAYS = 60
_KARPENTER = (1, 15)
"""The first Karpenter that makes nodes for pods with claims."""
_DRANET = (1, 35)
"""https://github.com/aws/eks-charts, stable/aws-dranet, prerequisites."""
DRANET = "dranet"
_AWS_BUILD = "aws-dranet"
GPU_TAINT = "nvidia.com/gpu"


def check_eks(
    name: str,
    fleet: FleetSettings,
    settings: EksClusterSettings,
    minor: str,
    pools: Sequence[PoolPlan],
    *,
    findings: Findings,
) -> None:
    """Check a cluster and its pools, apart from the releases' final values."""
    at = ("clusters", name)
    for plan in pools:
        pool_at = (*at, "pools", plan.name)
        pool = settings.pools[plan.name]
        check_image(pool_at, plan, pool, settings, findings)
        _check_nodes(pool_at, plan, settings, findings)
        _check_capacity(pool_at, plan, pool, settings, findings)
        _check_ultra_server(pool_at, plan, findings)
        _check_efa(pool_at, plan, pool, findings)
        _check_mig(pool_at, plan, settings, findings)
    _check_auto_mode(at, settings, findings)
    _check_dranet(at, settings, minor, pools, findings)
    _check_support(at, settings, minor, findings)
    check_mig_classes(name, fleet, pools, findings)


def check_eks_values(
    at: tuple[str, ...], driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
) -> None:
    """Check a driver's final values against the pools it serves."""
    what = "is not where the node images of EKS have the GPU driver"
    check_root(at, driver, pools, release.values, findings, what=what, fix="remove it from values")
    tainted = sorted(pool.name for pool in pools if any(taint.key == GPU_TAINT for taint in pool.taints))
    told = tolerations(value_at(release.values, "tolerations"))
    if release.name == "aws-dranet" and tainted and not any(one.may_tolerate(GPU_TAINT) for one in told):
        findings.warnings.append(
            f"cluster {at[1]}: aws-dranet does not tolerate {GPU_TAINT}, so that it publishes no network "
            f"card of {', '.join(tainted)}; add the toleration to its values"
        )


def _check_nodes(
    at: tuple[str, ...], plan: PoolPlan, settings: EksClusterSettings, findings: Findings
) -> None:
    if not plan.machine.gpus or not plan.by_dra or not settings.drivers or plan.min_nodes >= 1:
        return
    if settings.karpenter is not None and _numbers(settings.karpenter) >= _KARPENTER:
        return
    findings.error(
        *at,
        "nodes",
        "min",
        what="must be at least 1: the autoscaler cannot tell which devices a new node would have",
        got="0",
        allowed="1 or more, or 0 with karpenter 1.15 or later and its settings.enableDRA",
        fix="set nodes: {min: 1, …}",
    )


def _check_capacity(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: EksPoolSettings,
    settings: EksClusterSettings,
    findings: Findings,
) -> None:
    zones = zones_of(pool, settings)
    unknown = [zone for zone in pool.zones if zone not in settings.zones()]
    if unknown:
        findings.error(
            *at,
            "zones",
            what="names a zone in which the cluster has no subnet",
            got=", ".join(unknown),
            allowed=", ".join(settings.zones()),
            fix="add a subnet of the zone to the cluster, or choose another zone",
        )
    if plan.machine.reserved_only and pool.capacity != "CAPACITY_BLOCK":
        findings.error(
            *at,
            "capacity",
            what=f"is not how {plan.machine.name} is sold",
            got=pool.capacity,
            allowed="CAPACITY_BLOCK",
            fix="buy a Capacity Block, then set capacity: CAPACITY_BLOCK and reservation: cr-…",
        )
    if pool.capacity == "SPOT" and pool.reservation:
        findings.error(
            *at,
            "reservation",
            what="cannot be used by spot machines",
            got=pool.reservation,
            fix="remove it, or set capacity: ON_DEMAND",
        )
    if pool.capacity != "CAPACITY_BLOCK":
        return
    if pool.reservation is None:
        findings.error(
            *at,
            "reservation",
            what="is required: machines of a Capacity Block start only in their reservation",
            fix="add reservation: cr-…, the Capacity Block's",
        )
    if len(zones) != 1:
        findings.error(
            *at,
            "zones",
            what="must be the one zone of the Capacity Block: elsewhere no machine starts",
            got=", ".join(zones),
            allowed="one zone",
            fix=f"set zones: [{zones[0] if zones else '…'}], if that is the block's",
        )


def _check_ultra_server(at: tuple[str, ...], plan: PoolPlan, findings: Findings) -> None:
    facts = eks_facts().ultra_server
    if not plan.machine.name.startswith(facts.machines) or plan.max_nodes <= facts.most:
        return
    findings.error(
        *at,
        "nodes",
        "max",
        what="is more than one UltraServer has, and a Capacity Block of "
        f"{plan.machine.name} is one UltraServer",
        got=str(plan.max_nodes),
        allowed=f"{facts.most} at most",
        fix="add a pool with a Capacity Block of its own",
    )


def _check_efa(at: tuple[str, ...], plan: PoolPlan, pool: EksPoolSettings, findings: Findings) -> None:
    where = f"cluster {at[1]}: pool {plan.name}"
    if not pool.efa:
        return
    if not plan.network_cards:
        cards = {name: drivers.traits(item).network_cards for name, item in clouds.machines().items()}
        names = sorted(name for name, told in cards.items() if told and told.count)
        findings.error(
            *at,
            "efa",
            what=f"is not there: {plan.machine.name} has no network card with EFA",
            got="true",
            allowed=", ".join(names),
            fix="remove efa, or choose one of these machines",
        )
        return
    if not placed_together(pool):
        findings.warnings.append(
            f"{where} has EFA without a placement group, so that its nodes may be far apart; "
            "remove placementGroup: false"
        )
    if pool.security_group is not None:
        findings.warnings.append(
            f"{where} has EFA in security group {pool.security_group}, which must allow all traffic from and "
            "to itself; remove securityGroup and the stack makes one"
        )


def _check_mig(at: tuple[str, ...], plan: PoolPlan, settings: EksClusterSettings, findings: Findings) -> None:
    if not is_divided(plan):
        return
    if drivers.traits(plan.machine).divisible is False:
        findings.error(
            *at,
            "sharing",
            what=f"asks for MIG partitions, which {plan.machine.name} cannot have: its GPUs share their "
            "memory with the CPU (CDMM)",
            got="mig",
            allowed="exclusive",
            fix="remove sharing",
        )
    elif settings.gpu_operator is None and settings.drivers:
        findings.error(
            *at,
            "sharing",
            what="asks for MIG partitions that nobody makes: the operator's MIG manager does",
            got="mig",
            fix=how_to_ask(plan.machine),
        )


def _check_auto_mode(at: tuple[str, ...], settings: EksClusterSettings, findings: Findings) -> None:
    if settings.auto_mode and settings.drivers:
        findings.error(
            *at,
            "autoMode",
            what="has no Dynamic Resource Allocation; pods with claims would stay Pending",
            got="true",
            allowed="false",
            fix="remove autoMode; the stack's node groups are scaled by the cluster autoscaler",
        )


def _check_dranet(
    at: tuple[str, ...],
    settings: EksClusterSettings,
    minor: str,
    pools: Sequence[PoolPlan],
    findings: Findings,
) -> None:
    """AWS's build of DRANET, for EFA cards: its floor, and whether there are cards."""
    driver, wanted = drivers.named(DRANET), settings.drivers.get(DRANET)
    version = driver.facts.version(wanted.version) if driver is not None and wanted is not None else None
    if version is None or version.chart != _AWS_BUILD:
        return
    if _numbers(minor) < _DRANET:
        least = ".".join(map(str, _DRANET))
        findings.error(
            *at,
            "drivers",
            DRANET,
            what="needs a newer Kubernetes",
            got=minor,
            allowed=f"{least} or later",
            fix=f'set kubernetes: "{least}", or remove it',
        )
    if not any(pool.network_cards for pool in pools):
        findings.warnings.append(
            f"cluster {at[1]}: driver {DRANET} finds no network card with EFA on any pool; set efa: true on "
            "one"
        )


def _check_support(at: tuple[str, ...], settings: EksClusterSettings, minor: str, findings: Findings) -> None:
    facts = eks_facts()
    entry = facts.minor(minor)
    if entry is None:
        findings.warnings.append(
            f"cluster {at[1]}: Kubernetes {minor} was not known to be offered by EKS on {facts.date}"
        )
        return
    end = entry.standard_support_end
    if end is None or settings.support == "EXTENDED":
        return
    # Compared with the date of the facts, not with a clock: the same file always gives the same plan.
    if end < facts.date:
        findings.error(
            *at,
            "support",
            what=f"does not cover Kubernetes {minor} since {end}: EKS upgrades the control plane by itself",
            got=settings.support,
            allowed="EXTENDED",
            fix="upgrade kubernetes, or set support: EXTENDED",
        )
    elif (end - facts.date).days <= _SOON_DAYS:
        findings.warnings.append(
            f"cluster {at[1]}: EKS supports Kubernetes {minor} without extended support until {end}; "
            "plan the upgrade, or set support: EXTENDED"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
