"""What is wrong with the image of an EKS node group: its architecture, its GPU driver, its device plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.clouds.common.machines import is_divided
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.plan import ami_type, image_of, labels_gpus
from dra_fleet.clouds.eks.settings import OwnImage
from dra_fleet.drivers.operators import how_to_ask

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.facts import EksFacts, EksImage
    from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan


def check_image(
    at: tuple[str, ...],
    plan: PoolPlan,
    pool: EksPoolSettings,
    settings: EksClusterSettings,
    findings: Findings,
) -> None:
    """Check a pool's image against its machine.

    Args:
        at: where the pool stands in the stack file.
        plan: the pool's plan.
        pool: the pool's settings.
        settings: the cluster's.
        findings: collects the problems.
    """
    facts = eks_facts()
    _check_operator(at, plan, pool, settings, findings)
    if plan.by_plugin and settings.gpu_operator is None and not brings_plugin(plan, pool):
        findings.warnings.append(
            f"cluster {at[1]}: a device plugin shall give out the GPUs of pool {plan.name}, and nothing of "
            f"this stack brings one: {how_to_ask(plan.machine)}, or choose an image of Bottlerocket"
        )
    if isinstance(pool.image, OwnImage):
        _check_arch(at, plan, pool.image.arch, pool.image.id, facts, findings=findings)
        _check_driver(at, plan, pool.image, facts, findings)
        return
    image = image_of(plan.machine, pool)
    if image is None:
        known = [entry.name for entry in facts.images]
        findings.unknown(
            *at, "image", what="is no AMI type that this program knows", got=pool.image, known=known
        )
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
    """The GPU Operator's device plugin comes to every pool that it is not kept off."""
    if settings.gpu_operator is None:
        return
    if plan.by_plugin and brings_plugin(plan, pool):
        findings.error(
            *at,
            "image",
            what="brings a device plugin beside that of the GPU Operator, so that each GPU is given away "
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


def brings_plugin(plan: PoolPlan, pool: EksPoolSettings) -> bool:
    """Whether the pool's image has a device plugin."""
    image = None if isinstance(pool.image, OwnImage) else image_of(plan.machine, pool)
    return image is not None and image.plugin


def _check_arch(
    at: tuple[str, ...], plan: PoolPlan, arch: str, name: str, facts: EksFacts, *, findings: Findings
) -> None:
    wanted = plan.machine.arch or "amd64"
    if arch != wanted:
        findings.error(
            *at,
            "image",
            what=f"is built for {arch}, and {plan.machine.name} is {wanted}",
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
            fix=f"hold the image at {rule.held}, which is known to work",
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
            fix=f"use an image of your own with driver {rule.held}: image: {{id, arch, nvidiaDriver}}",
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
        held = facts.efa_driver
        findings.warnings.append(
            f"cluster {at[1]}: pool {plan.name} takes the newest {image.name}; once that has driver branch "
            f"{held.broken_from}, EFA breaks on {plan.machine.name}: hold it with release"
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
    wanted = plan.machine.arch or "amd64"
    fitting = [
        entry.name
        for entry in facts.images
        if entry.arch == wanted and entry.nvidia >= bool(plan.machine.gpus)
    ]
    return ", ".join(fitting)


def _branch(version: str) -> int:
    return int(version.partition(".")[0])


def _older(version: str, floor: str) -> bool:
    return [int(part) for part in version.split(".")] < [int(part) for part in floor.split(".")]
