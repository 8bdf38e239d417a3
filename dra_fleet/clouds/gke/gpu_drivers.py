"""Who installs the GPU driver on nodes of GKE, and where it is, as any program declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.gke.labels import DRIVER
from dra_fleet.clouds.resources import Fault, GpuDriverOwner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.clouds.gke.facts import GkeFacts
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.declared.resources import Stack
    from dra_fleet.hardware.models import Machine

_NOT_INSTALLED: Final = "INSTALLATION_DISABLED"


def facts() -> GkeFacts:
    """What is known of GKE; loaded by who asks for more than names of resources."""
    from dra_fleet.clouds.gke.facts import gke_facts  # noqa: PLC0415 - models take long to build

    return gke_facts()


def gpu_driver_owner(pool: NodePool) -> GpuDriverOwner | None:
    """Who installs the driver on a pool's nodes; None where that is not known."""
    at = pool.node("guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion")
    off = at.text == _NOT_INSTALLED
    if at.unknown:
        return None
    if off:  # the GPU Operator installs none on GKE's own image
        return GpuDriverOwner(at=at, owner="", other="install it by Google's DaemonSet")
    return GpuDriverOwner(at=at, owner="GKE", other="", label=DRIVER)


def gpu_driver_root(pool: NodePool) -> str | None:
    """Where on the host of a pool's nodes the driver is; None where that is not known."""
    images = facts().images
    name = pool.image.text or (images[0].name if pool.image.absent else "")
    return next((image.driver_root for image in images if image.name == name.upper()), None)


def wrong_images(stack: Stack, pool: NodePool, has_installer: Callable[[], bool]) -> Iterator[Fault]:
    """Google builds its GPU driver for some images and processors only."""
    for machine in pool.known_machines(stack):
        allowed = _images_with_driver(machine) if machine.gpus else []
        if not allowed or pool.image.absent or (pool.image.text or "").upper() in allowed:
            continue
        if pool.image.unknown or has_installer():
            continue
        yield Fault(
            at=pool.image,
            problem=f"is {pool.image.shown}, for which Google has no GPU driver for {machine.arch}, "
            f"the processor of {machine.name}",
            allowed=", ".join(allowed),
            fix=f"set imageType: {allowed[0]}",
        )


def _images_with_driver(machine: Machine) -> list[str]:
    """The images of GKE with a GPU driver for a machine's processor; none if that is every image known."""
    known = facts()
    found = {installer.image for installer in known.installers if installer.arch == machine.arch}
    return [] if found == {image.name for image in known.images} else sorted(found)


def own_driver(pool: NodePool) -> Iterator[Fault]:
    """Drivers that GKE installs by itself, which the DRA driver does not find."""
    for accelerator in pool.node("guestAccelerators").items:
        version = accelerator.get("gpuDriverInstallationConfig", "gpuDriverVersion")
        if version.unknown or version.text == _NOT_INSTALLED:
            continue
        yield Fault(
            at=version,
            problem=f"is {version.shown}, so GKE installs a driver that the DRA driver does not find",
            allowed=_NOT_INSTALLED,
            fix=f"set gpuDriverVersion: {_NOT_INSTALLED}, and install the driver by its DaemonSet",
        )
