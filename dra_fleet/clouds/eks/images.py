"""What is wrong with the image of an EKS node group: its architecture, its GPU driver, its device plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.pools import image_of
from dra_fleet.clouds.eks.settings import OwnImage

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.facts import EksFacts, EksImage
    from dra_fleet.clouds.eks.settings import EksPoolSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan


def check_image(
    at: tuple[str, ...], plan: PoolPlan, pool: EksPoolSettings, *, uses_dra: bool, findings: Findings
) -> None:
    """Check a pool's image against its machine.

    Args:
        at: where the pool stands in the stack file.
        plan: the pool's plan.
        pool: the pool's settings.
        uses_dra: whether a DRA driver serves the cluster.
        findings: collects the problems.
    """
    facts = eks_facts()
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
    if uses_dra and image.plugin:
        _check_plugin(at, pool, image, facts, findings)


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
