"""Changes to a delivered machine: drivers from pods, partitions, resources."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaOnHost, parts_of, with_changed
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role, extended_resources, role_of
from dra_fleet.drivers.nvidia.simulation.plugin import OPERATOR_ROOT
from dra_fleet.rehearsal.agent.driver_pod import is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.nvidia.simulation.hardware import DriverInstallable, NvidiaParts
    from dra_fleet.drivers.nvidia.simulation.operator.mig_config import Layouts
    from dra_fleet.rehearsal.simulator.node import Host


# Pods that install a GPU driver on their node and then only stay: the driver lies there once they are ready.
#
# They are recognised by what their init container would run, as on a real node.
# Source: https://github.com/GoogleCloudPlatform/container-engine-accelerators, `nvidia-driver-installer`.

IMAGES: Final = {"cos-nvidia-installer": "cos", "cos-gpu-installer": "cos", "gke-nvidia-installer": "ubuntu"}
"""The installers' images and the kind of node image each is made for."""

LATEST: Final = "--version=latest"


def kept_text(parts: NvidiaParts, layouts: Layouts | None = None) -> str:
    """Return what a machine remembers: the partitions of its GPUs, and how the device plugin shares GPUs.

    Args:
        parts: the machine as it is.
        layouts: other partitions than those it has.
    """
    found = tuple(gpu.mig for gpu in parts.gpus) if layouts is None else layouts
    kept = {"mig": [None if layout is None else dict(layout) for layout in found], "shared": parts.shared}
    return json.dumps(kept)


def installed(host: Host, pods: Sequence[Object], kept: str) -> Host:
    """Return a machine with the driver of its image or installer, and its current MIG layouts."""
    host = with_installed_driver(host, pods)
    memory = cast("dict[str, Any]", json.loads(kept)) if kept else {}
    shared, layouts = memory.get("shared"), memory.get("mig", ())
    host = with_changed(host, shared=tuple(shared) if shared else None)
    if not layouts or len(layouts) != len(parts_of(host).gpus):
        return host
    gpus = zip(parts_of(host).gpus, layouts, strict=True)
    return with_changed(
        host,
        gpus=tuple(
            replace(gpu, mig=None if layout is None else tuple(layout.items())) for gpu, layout in gpus
        ),
    )


def with_pods(host: Host, pods: Sequence[Object]) -> Host:
    """Return a machine with the driver that the operator's pod installed, unless it has another."""
    ready = next((pod for pod in pods if role_of(pod) is Role.DRIVER and is_ready(pod)), None)
    if parts_of(host).nvidia is not None or ready is None:
        return host
    nvidia = NvidiaOnHost(driver_version=driver_version(ready), driver_root=OPERATOR_ROOT)
    return with_changed(host, nvidia=nvidia)


def resources(host: Host, pods: Sequence[Object], before: Mapping[str, str]) -> Mapping[str, str]:
    """Return the extended resources that the device plugin registered; 0 after it stopped."""
    gone = {key: "0" for key in before if key.startswith("nvidia.com/")}
    plugin = next((pod for pod in pods if role_of(pod) is Role.DEVICE_PLUGIN and is_ready(pod)), None)
    return gone | (extended_resources(plugin, host) if plugin else {})


def driver_version(pod: Object) -> str:
    """Return the driver's version in the tag of its image: 580.95.05-ubuntu24.04."""
    found = re.search(r":(\d+\.\d+(\.\d+)?)", pod["spec"]["containers"][0]["image"])
    return found.group(1) if found else "0.0"


def is_installer(pod: Object) -> bool:
    """Return True if a pod would install a GPU driver."""
    return _container(pod) is not None


def installer_problem(pod: Object, host: Host) -> str | None:
    """Return why an installer's init container fails on a host; None if it succeeds."""
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
        requested = "latest" if LATEST in _words(container) else "default"
        return (
            f"Failed to install GPU driver: the image's {requested} driver does not run on this GPU; "
            f"install it with {LATEST}"
        )
    return None


def with_installed_driver(host: Host, pods: Iterable[Object]) -> Host:
    """Return a host with the driver that a pod on it installed, if one did.

    Args:
        host: the machine as delivered.
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
    return next((item for item in pod["spec"].get("initContainers", []) if _image(item) in IMAGES), None)


def _image(container: Object) -> str:
    return str(container.get("image", "")).partition("@")[0].rpartition("/")[2].partition(":")[0]


def _words(container: Object) -> str:
    return " ".join([*container.get("command", []), *container.get("args", [])])


def _version(container: Object, able: DriverInstallable) -> str | None:
    return able.latest if LATEST in _words(container) else able.default
