"""Pods that install a GPU driver on their node and then only stay: the driver lies there once they are ready.

They are recognised by what their init container would run, as on a real node.
Source: https://github.com/GoogleCloudPlatform/container-engine-accelerators, `nvidia-driver-installer`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.agent.driver_pod import is_ready
from dra_fleet.rehearsal.world.hardware import NvidiaOnHost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.hardware import Host

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
    container, able = _container(pod), host.installable
    if container is None:
        return None
    if not host.gpus:
        return "Failed to install GPU driver: no NVIDIA GPU was found on this node"
    if able is None:
        return None if host.nvidia else "Failed to install GPU driver: this node's driver is managed by GKE"
    made_for = IMAGES[_image(container)]
    if made_for != able.image:
        return (
            f"Failed to install GPU driver: this installer is made for node image {made_for}, the node runs "
            f"{able.image}; use the DaemonSet for {able.image}"
        )
    if _version(container, host) is None:
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
    if host.nvidia is not None or host.installable is None:
        return host
    for pod in pods:
        container = _container(pod)
        if container is None or not is_ready(pod) or installer_problem(pod, host):
            continue
        version = _version(container, host)
        if version is not None:
            root = host.installable.driver_root
            return replace(host, nvidia=NvidiaOnHost(driver_version=version, driver_root=root))
    return host


def _container(pod: Object) -> Object | None:
    """The init container that installs."""
    return next((item for item in pod["spec"].get("initContainers", []) if _image(item) in IMAGES), None)


def _image(container: Object) -> str:
    """The last part of an image's name, without tag and digest."""
    return str(container.get("image", "")).partition("@")[0].rpartition("/")[2].partition(":")[0]


def _words(container: Object) -> str:
    return " ".join([*container.get("command", []), *container.get("args", [])])


def _version(container: Object, host: Host) -> str | None:
    if host.installable is None:
        return None
    return host.installable.latest if LATEST in _words(container) else host.installable.default
