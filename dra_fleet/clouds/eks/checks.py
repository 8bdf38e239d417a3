"""Checks of an EKS cluster as a whole, before any call to AWS.

Source: https://docs.aws.amazon.com/eks/latest/userguide/ (device management, Capacity Blocks, UltraServers,
node images) and https://karpenter.sh/docs/ (dynamic resources).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds, drivers
from dra_fleet.clouds.common.machines import check_mig_classes, check_region, is_divided
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.karpenter import check_pool
from dra_fleet.clouds.eks.plan import ami_type, image_of, labels_gpus, placed_together, zones_of
from dra_fleet.clouds.eks.settings import OwnImage
from dra_fleet.drivers.common.placement import check_root
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.operators import how_to_ask
from dra_fleet.kubernetes.scheduling.taints import tolerations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.eks.facts import EksFacts, EksImage
    from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan


_SOON_DAYS = 60

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
        if pool.karpenter:
            check_pool(pool_at, plan, pool, settings, findings)
        else:
            _check_nodes(pool_at, plan, settings, findings)
        _check_capacity(pool_at, plan, pool, settings, findings)
        _check_ultra_server(pool_at, plan, findings)
        _check_efa(pool_at, plan, pool, findings)
        _check_mig(pool_at, plan, settings, findings)
    check_region(at, settings.region, settings.zones(), findings)
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
    reported = tolerations(value_at(release.values, "tolerations"))
    if release.name == "aws-dranet" and tainted and not any(one.may_tolerate(GPU_TAINT) for one in reported):
        findings.warnings.append(
            f"cluster {at[1]}: aws-dranet does not tolerate {GPU_TAINT}, so that it publishes no network "
            f"card of {', '.join(tainted)}; add the toleration to its values"
        )


def _check_nodes(
    at: tuple[str, ...], plan: PoolPlan, settings: EksClusterSettings, findings: Findings
) -> None:
    if not plan.machine.gpus or not plan.by_dra or not settings.drivers or plan.min_nodes >= 1:
        return
    findings.error(
        *at,
        "nodes",
        "min",
        what="must be at least 1: the autoscaler does not know which devices a new node would have",
        got="0",
        allowed="1 or more, or 0 with karpenter: true of the pool",
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
        fix="add a pool with another Capacity Block",
    )


def _check_efa(at: tuple[str, ...], plan: PoolPlan, pool: EksPoolSettings, findings: Findings) -> None:
    where = f"cluster {at[1]}: pool {plan.name}"
    if not pool.efa:
        return
    if not plan.network_cards:
        cards = {name: drivers.traits(item).network_cards for name, item in clouds.machines().items()}
        names = sorted(name for name, reported in cards.items() if reported and reported.count)
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
            what=f"requests MIG partitions, which {plan.machine.name} cannot have: its GPUs share their "
            "memory with the CPU (CDMM)",
            got="mig",
            allowed="exclusive",
            fix="remove sharing",
        )
    elif settings.gpu_operator is None and settings.drivers:
        findings.error(
            *at,
            "sharing",
            what="requests MIG partitions that nothing makes: the operator's MIG manager does",
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
    driver, requested = drivers.named(DRANET), settings.drivers.get(DRANET)
    version = (
        driver.facts.version(requested.version) if driver is not None and requested is not None else None
    )
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


def check_image(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: EksPoolSettings,
    settings: EksClusterSettings,
    findings: Findings,
) -> None:
    """Check a pool's image against its machine.

    Args:
        at: the pool's path in the stack file.
        plan: the pool's plan.
        pool: the pool's settings.
        settings: the cluster's.
        findings: collects the problems.
    """
    facts = eks_facts()
    _check_operator(at, plan, pool, settings, findings)
    if plan.by_plugin and settings.gpu_operator is None and not includes_plugin(plan, pool):
        findings.warnings.append(
            f"cluster {at[1]}: a device plugin shall advertise the GPUs of pool {plan.name}, and nothing of "
            f"this stack installs one: {how_to_ask(plan.machine)}, or choose an image of Bottlerocket"
        )
    if isinstance(pool.image, OwnImage):
        _check_arch(at, plan, pool.image.arch, pool.image.id, facts, findings=findings)
        _check_driver(at, plan, pool.image, facts, findings)
        return
    image = image_of(plan.machine, pool)
    if image is None:
        known = [entry.name for entry in facts.images]
        findings.unknown(*at, "image", what="is not a known AMI type", got=pool.image, known=known)
        return
    _check_arch(at, plan, image.arch, image.name, facts, findings=findings)
    if not plan.machine.gpus:
        return
    if not image.nvidia:
        findings.error(
            *at,
            "image",
            what="has no NVIDIA driver, and nothing installs one on EKS",
            got=image.name,
            allowed=_allowed(plan, facts),
            fix="remove image",
        )
        return
    _check_branch(at, plan, image, facts, findings)
    _check_release(at, plan, pool, image, facts, findings=findings)
    if settings.drivers and not plan.by_plugin and image.plugin:
        _check_plugin(at, pool, image, facts, findings)


def _check_operator(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: EksPoolSettings,
    settings: EksClusterSettings,
    findings: Findings,
) -> None:
    """Check that the GPU Operator's device plugin is disabled on pools that need it off."""
    if settings.gpu_operator is None:
        return
    if plan.by_plugin and includes_plugin(plan, pool):
        findings.error(
            *at,
            "image",
            what="includes a device plugin beside that of the GPU Operator, so that each GPU is allocated "
            "twice",
            got=ami_type(plan.machine, pool),
            fix="remove image, or gpuOperator of the cluster",
        )
    others = [name for name, other in settings.pools.items() if other.advertise not in {None, "dra"}]
    if others and is_divided(plan) and labels_gpus(plan.machine, pool):
        findings.error(
            *at,
            "sharing",
            what=f"needs the GPU Operator, whose device plugin would come to these nodes too for pool "
            f"{others[0]}: "
            "the image labels its GPUs before the operator finds them, and it then forgets where to stay "
            "away",
            got=plan.sharing.strategy,
            fix=f"put the pool or {others[0]} into another cluster",
        )


def includes_plugin(plan: PoolPlan, pool: EksPoolSettings) -> bool:
    """Return True if the pool's image includes a device plugin."""
    image = None if isinstance(pool.image, OwnImage) else image_of(plan.machine, pool)
    return image is not None and image.plugin


def _check_arch(
    at: tuple[str, ...], plan: PoolPlan, arch: str, name: str, facts: EksFacts, *, findings: Findings
) -> None:
    requested = plan.machine.arch or "amd64"
    if arch != requested:
        findings.error(
            *at,
            "image",
            what=f"is built for {arch}, and {plan.machine.name} is {requested}",
            got=name,
            allowed=_allowed(plan, facts),
            fix="remove image",
        )


def _check_driver(
    at: tuple[str, ...], plan: PoolPlan, image: OwnImage, facts: EksFacts, findings: Findings
) -> None:
    rule = facts.efa_driver
    if plan.machine.name.startswith(rule.machines) and _branch(image.nvidia_driver) >= rule.broken_from:
        findings.error(
            *at,
            "image",
            "nvidiaDriver",
            what=f"breaks EFA on {plan.machine.name}",
            got=image.nvidia_driver,
            allowed=f"a branch below {rule.broken_from}",
            fix=f"pin the image with driver {rule.working}, which is known to work",
        )
    _refuse_old_driver(at, plan, _branch(image.nvidia_driver), image.nvidia_driver, findings=findings)


def _check_branch(
    at: tuple[str, ...], plan: PoolPlan, image: EksImage, facts: EksFacts, findings: Findings
) -> None:
    if image.driver_branch is None:
        needed = drivers.traits(plan.machine).least_host_driver
        if needed is not None:
            findings.warnings.append(
                f"cluster {at[1]}: pool {plan.name} needs driver branch {needed}, and no "
                f"public source says which one {image.name} has"
            )
        return
    rule = facts.efa_driver
    if plan.machine.name.startswith(rule.machines) and image.driver_branch >= rule.broken_from:
        findings.error(
            *at,
            "image",
            what=f"has driver branch {image.driver_branch}, which breaks EFA on {plan.machine.name}",
            got=image.name,
            allowed=f"a branch below {rule.broken_from}",
            fix=f"use a custom image with driver {rule.working}: image: {{id, arch, nvidiaDriver}}",
        )
    _refuse_old_driver(at, plan, image.driver_branch, image.name, findings=findings)


def _refuse_old_driver(
    at: tuple[str, ...], plan: PoolPlan, branch: int, got: str, *, findings: Findings
) -> None:
    needed = drivers.traits(plan.machine).least_host_driver
    if needed is not None and branch < needed:
        findings.error(
            *at,
            "image",
            what=f"has driver branch {branch}, too old for the GPUs of {plan.machine.name}",
            got=got,
            allowed=f"branch {needed} or later",
            fix="use an image of your own: image: {id: ami-…, nvidiaDriver: …}",
        )


def _check_release(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: EksPoolSettings,
    image: EksImage,
    facts: EksFacts,
    *,
    findings: Findings,
) -> None:
    since = facts.ultra_server_image
    if not plan.machine.name.startswith(since.machines):
        return
    if pool.release is None:
        driver = facts.efa_driver
        findings.warnings.append(
            f"cluster {at[1]}: pool {plan.name} takes the newest {image.name}; once that has driver branch "
            f"{driver.broken_from}, EFA breaks on {plan.machine.name}: hold it with release"
        )
    elif image.system == "al2023" and pool.release.rpartition("-")[2] < since.since:
        findings.error(
            *at,
            "release",
            what=f"is too old for {plan.machine.name}",
            got=pool.release,
            allowed=f"a release of {since.since} or later",
            fix="choose a newer release",
        )


def _check_plugin(
    at: tuple[str, ...], pool: EksPoolSettings, image: EksImage, facts: EksFacts, findings: Findings
) -> None:
    switch = facts.bottlerocket_plugin_switch
    if pool.device_plugin:
        findings.error(
            *at,
            "devicePlugin",
            what=f"leaves the device plugin of {image.name} on, which advertises the GPUs that the DRA "
            "driver publishes",
            got="true",
            allowed="false",
            fix=f"remove devicePlugin; the stack then sets {switch.setting} to false",
        )
    if pool.release is not None and _older(pool.release.partition("-")[0], switch.since):
        findings.error(
            *at,
            "release",
            what=f"does not know {switch.setting}, so that its device plugin cannot be turned off",
            got=pool.release,
            allowed=f"{switch.since} or later",
            fix="choose a newer release, or AL2023, which has no device plugin",
        )


def _allowed(plan: PoolPlan, facts: EksFacts) -> str:
    requested = plan.machine.arch or "amd64"
    fitting = [
        entry.name
        for entry in facts.images
        if entry.arch == requested and entry.nvidia >= bool(plan.machine.gpus)
    ]
    return ", ".join(fitting)


def _branch(version: str) -> int:
    return int(version.partition(".")[0])


def _older(version: str, floor: str) -> bool:
    return [int(part) for part in version.split(".")] < [int(part) for part in floor.split(".")]
