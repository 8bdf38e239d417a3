"""Pods that install a GPU driver on their node and then only stay: the driver lies there once they are ready.

They are recognised by what their init container would run, as on a real node.
Source: https://github.com/GoogleCloudPlatform/container-engine-accelerators, `nvidia-driver-installer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaOnHost, parts_of, with_changed
from dra_fleet.rehearsal.agent.driver_pod import is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.nvidia.simulation.hardware import DriverInstallable
    from dra_fleet.rehearsal.world.node import Host

IMAGES: Final = {
    "cos-nvidia-installer": "cos",
    "cos-gpu-installer": "cos",
    "gke-nvidia-installer": "ubuntu",
}
"""The installers' images and the kind of node image each is made for."""
LATEST: Final = "--version=latest"


def is_installer(pod: Object) -> bool:
    """Whether a pod would install a GPU driver."""
    return _container(pod) is not None


def installer_problem(pod: Object, host: Host) -> str | None:
    """Why an installer's init container fails on a host; None where it succeeds."""
    container, found = _container(pod), parts_of(host)
    able = found.installable
    if container is None:
        return None
    if not found.gpus:
        return "Failed to install GPU driver: no NVIDIA GPU was found on this node"
    if able is None:
        return None if found.nvidia else "Failed to install GPU driver: this node's driver is managed by GKE"
    made_for = IMAGES[_image(container)]
    if made_for != able.image:
        return (
            f"Failed to install GPU driver: this installer is made for node image {made_for}, the node runs "
            f"{able.image}; use the DaemonSet for {able.image}"
        )
    if _version(container, able) is None:
        wanted = "latest" if LATEST in _words(container) else "default"
        return (
            f"Failed to install GPU driver: the image's {wanted} driver does not run on this GPU; "
            f"install it with {LATEST}"
        )
    return None


def with_installed_driver(host: Host, pods: Iterable[Object]) -> Host:
    """A host with the driver that a pod on it installed, if one did.

    Args:
        host: the machine as it was delivered.
        pods: the pods on it.
    """
    able = parts_of(host).installable
    if parts_of(host).nvidia is not None or able is None:
        return host
    for pod in pods:
        container = _container(pod)
        if container is None or not is_ready(pod) or installer_problem(pod, host):
            continue
        version = _version(container, able)
        if version is not None:
            driver = NvidiaOnHost(driver_version=version, driver_root=able.driver_root)
            return with_changed(host, nvidia=driver)
    return host


def _container(pod: Object) -> Object | None:
    """The init container that installs."""
    return next((item for item in pod["spec"].get("initContainers", []) if _image(item) in IMAGES), None)


def _image(container: Object) -> str:
    """The last part of an image's name, without tag and digest."""
    return str(container.get("image", "")).partition("@")[0].rpartition("/")[2].partition(":")[0]


def _words(container: Object) -> str:
    return " ".join([*container.get("command", []), *container.get("args", [])])


def _version(container: Object, able: DriverInstallable) -> str | None:
    return able.latest if LATEST in _words(container) else able.default
