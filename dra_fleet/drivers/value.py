"""What a DRA driver is in plain data, which its package holds."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

Order = Literal["by index", "sorted", "random"]
"""How a driver orders its devices in a slice; the scheduler tries them in that order."""
Part = Literal["values", "slices", "plan", "settings", "sharing", "resources", "nodes", "machines"]
"""A module of a driver's package: chart values, what is published, what a plan asks, what it reads of a stack
file, sharing, what rules ask of it, what its nodes need and tell, and what it reads of a machine's row."""


@dataclass(frozen=True, kw_only=True)
class NetworkCards:
    """Network cards that a driver publishes: how many of a machine's, and from which of its cards on."""

    count: int
    first: int


@dataclass(frozen=True, kw_only=True)
class MachineTraits:
    """What is told of a machine's devices beside what they are; None where nobody tells.

    Attributes:
        network_cards: Those that a driver publishes.
        divisible: Whether its devices can be divided; told where they are of a model that elsewhere can.
        divided_by_cloud: Whether the cloud divides them itself where a pool asks it to.
        least_host_driver: The branch of the devices' driver on the host that they need at least.
    """

    network_cards: NetworkCards | None = None
    divisible: bool | None = None
    divided_by_cloud: bool | None = None
    least_host_driver: int | None = None


@dataclass(frozen=True, kw_only=True)
class Accelerators:
    """What a machine is chosen for: so many accelerators of a model.

    Attributes:
        model: The model, or the generation.
        count: How many one node has.
        called: What their cloud calls them, where that is not what the machine's own GPUs are called.
        topology: How they are connected, where the driver tells it.
    """

    model: str
    count: int
    called: str = ""
    topology: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class DriverValue:
    """One DRA driver.

    Attributes:
        name: Its name in stack files.
        package: The package that holds its parts.
        formerly: Its names in stack files of earlier versions.
        publishers: The names under which it publishes ResourceSlices, each with a word by which the pods that
            do so are known where their specification does not name it.
        intents: Per key of a class in the stack file, the attribute or capacity that answers it.
        without: The parts that it does without: what is asked of them is answered with nothing.
        plugin_section: The chart value under which the placement of the plugin's pods stands; empty where it
            stands at the top.
        controller_switch: The chart value that turns its controller on; empty where it has none.
        operator: The key of a cluster's settings for the operator that readies its nodes; empty where
            there is none.
        extended_resource: The resource by which a device plugin would give the same devices out; empty where
            none does.
        owns_names: Whether nobody else's driver publishes under its names.
        serves_pods: Whether its devices are given to the pod as a whole, so that no container needs to name
            the claim.
        api_group: The API group of the driver's own objects; empty where it has none, or none that is judged.
        unisolated: What people call the strategies of its opaque configuration that isolate neither memory
            nor faults.
        prepared_together: What a node's devices are called where it prepares all of them for one claim or
            none; empty where it prepares each alone.
        settles: Dotted keys that, given by the user, answer the question `conflicts` asks.
        is_usual: Whether a cluster that brings its own drivers is taken to run it unless told otherwise.
        takes_descriptions: Whether stack files describe its devices, because no machine tells them.
        on_every_node: Whether it publishes something on every node, so that what nobody describes is not
            known, rather than not there.
        order: In which order it publishes its devices; what is not known counts as random, which is any.
        order_with_counters: The same where its devices share counters.
    """

    name: str
    package: str
    formerly: tuple[str, ...] = ()
    publishers: Mapping[str, str]
    intents: Mapping[str, str]
    plugin_section: str
    without: frozenset[Part]
    controller_switch: str = ""
    operator: str = ""
    extended_resource: str = ""
    owns_names: bool = True
    serves_pods: bool = False
    api_group: str = ""
    unisolated: Mapping[str, str] = field(default_factory=dict[str, str])
    prepared_together: str = ""
    settles: frozenset[str] = frozenset()
    is_usual: bool = False
    takes_descriptions: bool = False
    on_every_node: bool = False
    order: Order = "random"
    order_with_counters: Order = "random"
