"""Intel's driver as any program installs it."""

import re

from dra_fleet.drivers.resources import NO_NAME, DriverResources

RESOURCES = DriverResources(
    told_by="machines",
    publishes=None,
    program=re.compile(r"(?<![\w-])kubelet-gpu-plugin(?![\w-])"),
    node_taint="",
    node_labels=NO_NAME,
    workloads=NO_NAME,
    root="",
    device_plugin=None,
    operator=None,
    discovery_charts=frozenset(),
    other_charts=frozenset(),
    told_by_values=(),
    dividable=None,
    installer_images=NO_NAME,
)
