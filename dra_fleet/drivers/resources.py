"""Charts, images and labels of every DRA driver in any Pulumi program, for the gate.

The defaults describe a driver that is recognized only by the placement of its plugin in its chart's values.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.common.predicting import KnownDevice
    from dra_fleet.kubernetes.scheduling.node_affinity import LabelValue

NO_NAME: Final = re.compile(r"(?!)")
"""Matches nothing: the answer of a driver that has none."""


class Switch(Struct, frozen=True, kw_only=True):
    """A chart value that turns something on and off, by its dotted key; `default` where it is not given."""

    key: str
    default: bool


class DevicePlugin(Struct, frozen=True, kw_only=True):
    """A device plugin for a driver's devices, from its chart or from a custom DaemonSet.

    Attributes:
        chart: the name of its chart.
        programs: pattern of its program in a command, or of its image by a unique name.
        shared_images: pattern of images whose name other vendors' plugins share.
        settings: pattern of environment variables that only its program reads.
        other_programs: pattern of its image's other programs, in a command.
        vendors: pattern of the other vendors' names.
        labels: default node labels of which its pods require one.
        tolerations: default tolerations of its pods.
        discovers: the value of its chart that installs the feature discovery.
        limits: the resource names with which pods request its devices.
    """

    chart: str
    programs: re.Pattern[str]
    shared_images: re.Pattern[str]
    settings: re.Pattern[str]
    other_programs: re.Pattern[str]
    vendors: re.Pattern[str]
    labels: Mapping[str, str]
    tolerations: Sequence[Mapping[str, str]]
    discovers: Switch
    limits: re.Pattern[str]


class OtherPlugin(Struct, frozen=True, kw_only=True):
    """A device plugin of another project that advertises a driver's devices.

    Attributes:
        title: the project.
        charts: the names of its charts.
        programs: finds its program in a command, or its image.
        limits: finds the names of its extended resources, where they are not the driver's.
        source: a public page that names them.
        date: when that page was read.
    """

    title: str
    charts: frozenset[str]
    programs: re.Pattern[str]
    source: str
    date: str
    limits: re.Pattern[str] = NO_NAME


class Operator(Struct, frozen=True, kw_only=True):
    """An operator that installs what a driver needs, or the driver itself.

    Attributes:
        chart: the name of its chart.
        title: its usual name.
        versions: the versions of the chart that are known, the newest last.
        policies: the objects that configure it, whose `spec` has the chart's values.
        dra: deploys the DRA driver, and then no device plugin.
        device_plugin: deploys the device plugin.
        device_plugin_kept_off: labels that, `false` on a node, keep the device plugin off it.
        tolerations: the value with the tolerations of its pods.
        kernel_driver: installs the devices' driver on nodes.
        kernel_driver_kept_off: labels that, `false` on a node, keep the kernel driver off it.
        root: the value with the installation path.
        default_root: the default installation path.
        discovers: installs the feature discovery.
        labels: prefixes of the labels that it puts on nodes.
        finds: pattern of the label keys that its feature discovery writes.
    """

    chart: str
    title: str
    versions: Callable[[], Sequence[ChartVersion]]
    policies: re.Pattern[str]
    dra: Switch
    device_plugin: Switch
    device_plugin_kept_off: tuple[str, ...]
    tolerations: str
    kernel_driver: Switch
    kernel_driver_kept_off: tuple[str, ...]
    root: str
    default_root: str
    discovers: Switch
    labels: tuple[str, ...]
    finds: re.Pattern[str]


class KnownByValues(Struct, frozen=True, kw_only=True):
    """A chart that is known by its values, whatever it is called: by enough of these dotted keys."""

    chart: str
    keys: frozenset[str]
    enough: int


class Progress(Struct, frozen=True, kw_only=True):
    """The label by which nodes report how far the dividing of their devices is.

    Attributes:
        key: the label's key.
        ready: its value once the partitions are there.
        before: what it may be until then.
    """

    key: str
    ready: str
    before: tuple[LabelValue, ...]


class Dividable(Struct, frozen=True, kw_only=True):
    """A driver's devices that can be advertised whole or in partitions.

    Attributes:
        whole: every model of them, whole.
        partitions: every partition of each.
        layouts: by the name of a model its partitions, and how many of each one device holds; empty where it
            cannot be divided, None for a model that is not the driver's.
        is_partition: what a selector says to take partitions only, CEL.
        partition_class: the class of its chart that takes partitions only.
        label: the label of nodes that requests partitions of their devices.
        whole_label: what it says where there shall be none.
        progress: the label that reports how far they are.
        switch: the chart value by which the driver makes partitions by itself.
        operator_values: the values of the operator's chart by which it does so, with what they say where not.
        config_kinds: the kinds of a claim's configuration that only partitions have.
        hollow_values: values of the operator's chart that name partitions and make none.
        maker: the value of the operator's chart that disables the component which makes partitions.
    """

    whole: Callable[[], Sequence[KnownDevice]]
    partitions: Callable[[], Iterable[KnownDevice]]
    layouts: Callable[[str], Mapping[str, int] | None]
    is_partition: str
    partition_class: str
    label: str
    whole_label: str
    progress: Progress
    switch: str
    operator_values: tuple[tuple[str, frozenset[str]], ...]
    config_kinds: frozenset[str]
    hollow_values: tuple[tuple[str, str], ...] = ()
    maker: str = ""


class DriverResources(Struct, frozen=True, kw_only=True):
    """Resource names and patterns of one driver.

    Attributes:
        evidence: evidence that a pool's nodes have its devices: GPUs, even on unknown machines; a known
            machine that the driver serves; or a chart that selects nodes.
        publishes: the chart value that turns the publishing of its devices off, or None.
        program: pattern of its program in a command, for any image.
        node_taint: the key of the taint of nodes with its devices by convention; may be empty.
        node_labels: pattern of the label keys that its vendor's discovery puts on nodes.
        workloads: the object types with which its vendor's other operators run pods.
        root: the chart value with the path of the devices' driver, by default the host's root; may be empty.
        device_plugin: the device plugin for the same devices, or None.
        other_plugins: device plugins of other projects for the same devices.
        operator: the operator that installs its requirements, or None.
        discovery_charts: the names of further charts that label nodes by their devices.
        other_charts: the names of other charts for its devices that advertise none.
        identified_by_values: its charts that their values identify, even if renamed.
        dividable: its devices that can be partitioned, or None.
        installer_images: pattern of images that install the devices' driver on nodes.
    """

    known_by: Literal["gpus", "machines", "placement"] = "placement"
    publishes: Switch | None = None
    program: re.Pattern[str] = NO_NAME
    node_taint: str = ""
    node_labels: re.Pattern[str] = NO_NAME
    workloads: re.Pattern[str] = NO_NAME
    root: str = ""
    device_plugin: DevicePlugin | None = None
    other_plugins: tuple[OtherPlugin, ...] = ()
    operator: Operator | None = None
    discovery_charts: frozenset[str] = frozenset()
    other_charts: frozenset[str] = frozenset()
    known_by_values: tuple[KnownByValues, ...] = ()
    dividable: Dividable | None = None
    installer_images: re.Pattern[str] = NO_NAME
