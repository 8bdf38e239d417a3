"""What every DRA driver says of charts, images and labels in any Pulumi program: the gate asks.

The defaults describe a driver that is recognized only by where its chart's values place its plugin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.common.predicting import KnownDevice
    from dra_fleet.kubernetes.scheduling.node_affinity import Held

NO_NAME: Final = re.compile(r"(?!)")
"""Matches nothing: the answer of a driver that has none."""


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A chart value that turns something on and off, by its dotted key; `default` where it is not given."""

    key: str
    default: bool


@dataclass(frozen=True, kw_only=True)
class DevicePlugin:
    """A device plugin that gives a driver's devices out, by its chart or by a DaemonSet of one's own.

    Attributes:
        chart: the name of its chart.
        programs: finds its program in a command, or its image by a name that is its own.
        shared_images: finds images by a name that other vendors' plugins have too.
        settings: matches the names of environment variables that only its program reads.
        other_programs: finds what else its image can run, in a command.
        vendors: finds the names of the other vendors.
        labels: the labels of nodes of which one is enough for its pods, unless the chart is told otherwise.
        tolerations: what its pods tolerate, unless the chart is told otherwise.
        discovers: the value of its chart that brings what labels nodes by their devices.
        limits: the names by which pods ask for its devices.
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


@dataclass(frozen=True, kw_only=True)
class OtherPlugin:
    """A device plugin of another project that advertises a driver's devices.

    Attributes:
        title: the project.
        charts: the names of its charts.
        programs: finds its program in a command, or its image.
        source: a public page that names them.
        date: when that page was read.
    """

    title: str
    charts: frozenset[str]
    programs: re.Pattern[str]
    source: str
    date: str


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An operator that installs what a driver needs, or the driver itself.

    Attributes:
        chart: the name of its chart.
        title: what people call it.
        versions: the versions of the chart that are known, the newest last.
        policies: the objects by which it is told what to do, whose `spec` has the chart's values.
        dra: deploys the DRA driver, and then no device plugin.
        device_plugin: deploys the device plugin.
        device_plugin_kept_off: labels that, `false` on a node, keep the device plugin off it.
        tolerations: the value with the tolerations of its pods.
        kernel_driver: installs the devices' driver on nodes.
        kernel_driver_kept_off: labels that, `false` on a node, keep that off it.
        root: the value that says where it installs it.
        default_root: where it does so unless told otherwise.
        discovers: brings what labels nodes by their devices.
        labels: how the labels begin that it, or a pool for its sake, puts on nodes.
        finds: finds keys of labels in which what it brings writes what it found on a node.
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


@dataclass(frozen=True, kw_only=True)
class ToldByValues:
    """A chart that is known by its values, whatever it is called: by enough of these dotted keys."""

    chart: str
    keys: frozenset[str]
    enough: int


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The label by which nodes tell how far the dividing of their devices is.

    Attributes:
        key: the label's key.
        ready: its value once the partitions are there.
        before: what it may be until then.
    """

    key: str
    ready: str
    before: tuple[Held, ...]


@dataclass(frozen=True, kw_only=True)
class Dividable:
    """A driver's devices that can be given out whole or in partitions.

    Attributes:
        whole: every model of them, whole.
        partitions: every partition of each.
        layouts: by the name of a model its partitions, and how many of each one device holds; empty where it
            cannot be divided, None for a model that is not the driver's.
        is_partition: what a selector says to take partitions only, CEL.
        partition_class: the class of its chart that takes partitions only.
        label: the label of nodes that asks for partitions of their devices.
        whole_label: what it says where there shall be none.
        progress: the label that tells how far they are.
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


@dataclass(frozen=True, kw_only=True)
class DriverResources:
    """The answers of one driver.

    Attributes:
        told_by: what tells that a pool's nodes have its devices: that they have GPUs, also on machines that
            are not known; that the driver serves a machine that is known; or that its chart chooses nodes.
        publishes: the chart value that turns the publishing of its devices off; None where none does.
        program: finds in a command what publishes its devices, whatever the image is called.
        node_taint: the key of the taint that nodes with its devices carry by convention; empty for none.
        node_labels: finds keys of labels that its vendor's software puts on nodes by what it finds there.
        workloads: the types of objects by which its vendor's other operators run pods.
        root: the chart value that says where the devices' driver is, the host's root unless given; empty for
            none.
        device_plugin: the device plugin that gives the same devices out; None where there is none.
        other_plugins: device plugins of other projects for the same devices.
        operator: the operator that installs what it needs; None where there is none.
        discovery_charts: the names of further charts that label nodes by their devices.
        other_charts: the names of charts that concern its devices, and give none out.
        told_by_values: its charts that are known by their values too, for those under another name.
        dividable: its devices that can be divided into partitions; None where none can.
        installer_images: finds images that install the devices' driver on nodes.
    """

    told_by: Literal["gpus", "machines", "placement"] = "placement"
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
    told_by_values: tuple[ToldByValues, ...] = ()
    dividable: Dividable | None = None
    installer_images: re.Pattern[str] = NO_NAME
