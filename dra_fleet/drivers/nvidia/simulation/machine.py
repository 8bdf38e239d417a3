"""What was done to a machine since it was delivered: drivers from pods, partitions, resources."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, cast

from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaOnHost, parts_of, with_changed
from dra_fleet.drivers.nvidia.simulation.installers import with_installed_driver
from dra_fleet.drivers.nvidia.simulation.operator.capacity import extended_resources
from dra_fleet.drivers.nvidia.simulation.operator.roles import Role, role_of
from dra_fleet.drivers.nvidia.simulation.plugin import OPERATOR_ROOT
from dra_fleet.rehearsal.agent.driver_pod import is_ready

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.nvidia.simulation.operator.mig_config import Layouts
    from dra_fleet.rehearsal.world.node import Host


def layouts_text(layouts: Layouts) -> str:
    """The partitions of a machine's GPUs as it remembers them."""
    return json.dumps([None if layout is None else dict(layout) for layout in layouts])


def read_layouts(text: str) -> Layouts:
    """The partitions that `layouts_text` wrote."""
    found = cast("list[dict[str, int] | None]", json.loads(text))
    return tuple(None if layout is None else tuple(layout.items()) for layout in found)


def installed(host: Host, pods: Sequence[Object], kept: str) -> Host:
    """A machine with what its image or an installer put on it, and the MIG layouts it has now."""
    host = with_installed_driver(host, pods)
    layouts = read_layouts(kept) if kept else ()
    if not layouts or len(layouts) != len(parts_of(host).gpus):
        return host
    gpus = zip(parts_of(host).gpus, layouts, strict=True)
    return with_changed(host, gpus=tuple(dataclasses.replace(gpu, mig=layout) for gpu, layout in gpus))


def with_pods(host: Host, pods: Sequence[Object]) -> Host:
    """A machine with the driver that the operator's pod installed, where it has no other."""
    ready = next((pod for pod in pods if role_of(pod) is Role.DRIVER and is_ready(pod)), None)
    if parts_of(host).nvidia is not None or ready is None:
        return host
    nvidia = NvidiaOnHost(driver_version=driver_version(ready), driver_root=OPERATOR_ROOT)
    return with_changed(host, nvidia=nvidia)


def resources(host: Host, pods: Sequence[Object], before: Mapping[str, str]) -> Mapping[str, str]:
    """The extended resources that the device plugin registered; 0 after it left."""
    gone = {key: "0" for key in before if key.startswith("nvidia.com/")}
    plugin = next((pod for pod in pods if role_of(pod) is Role.DEVICE_PLUGIN and is_ready(pod)), None)
    return gone | (extended_resources(plugin, host) if plugin else {})


def driver_version(pod: Object) -> str:
    """The driver's version in the tag of its image: 580.95.05-ubuntu24.04."""
    found = re.search(r":(\d+\.\d+(\.\d+)?)", pod["spec"]["containers"][0]["image"])
    return found.group(1) if found else "0.0"
