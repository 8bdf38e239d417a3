"""Node pools as any program declares them, read by what their cloud says of the places in its own resources.

Everything is read when it is asked for, so a rule that looks at labels does not trip over an unknown count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.kubernetes.scheduling.taints import Taint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Step, Value
    from dra_fleet.drivers import Driver
    from dra_fleet.model.hardware import Machine

_EFFECTS: Final[Mapping[str, str]] = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
_TAINT_TEXT = re.compile(r"(?P<key>[^=:]+)(=(?P<value>[^:]*))?:(?P<effect>\w+)")
"""Syntax of a taint in `kubectl taint`."""


class PoolForm(Struct, frozen=True, kw_only=True):
    """Location of the pools in a type of resource. Paths are dotted; `*` stands for each item of a list.

    Attributes:
        types: the resource's type token.
        pools: the pools in the resource; empty if the resource is itself a pool.
        name: the pool's name; this and what follows lie below the pool. Empty if it has none.
        machine: its machine types.
        labels: the labels of its nodes: a map, or a list of keys and values.
        taints: their taints: a list of texts, or of keys, values and effects.
        image: the image of its nodes.
        autoscaling: what turns the autoscaler on for it; empty where the cloud is not asked about that.
        fewest: the number of nodes that the autoscaler keeps at least, from the pool; absent if the cloud
            chooses.
        most: the maximum number of nodes.
        rolled_by: the inputs that the cloud changes by new nodes, one after the other.
        machines: its machine types from the pool, where no path leads to them.
        applies: which resources of the type are this cloud's; None for all.
    """

    types: re.Pattern[str]
    pools: str
    name: str
    machine: str
    labels: str
    taints: str
    image: str
    autoscaling: str
    fewest: Callable[[Value], Value]
    most: Callable[[Value], Value]
    rolled_by: tuple[str, ...]
    machines: Callable[[Value], list[Value]] | None = None
    applies: Callable[[Resource], bool] | None = None


class NodePool:
    """A node pool.

    Attributes:
        resource: the resource that declares it; several inline pools share one.
        cloud: the cloud of the pool.
        at: the place of the pool in the resource.
    """

    def __init__(self, resource: Resource, cloud: CloudResources, form: PoolForm, at: Value) -> None:
        """Take the place; nothing is read yet."""
        self.resource = resource
        self.cloud = cloud
        self.at = at
        self._form = form

    def get(self, *steps: Step) -> Value:
        """Return the cloud's own field at a path of the pool."""
        return self.at.get(*steps)

    @property
    def name(self) -> str:
        """The pool's name, else the resource's logical name."""
        given = self.at.get(self._form.name).peek if self._form.name else None
        return given if isinstance(given, str) else self.resource.name

    @property
    def machines(self) -> list[Value]:
        """Its machine types; some clouds take several. A missing one is an absent value."""
        return (self._form.machines or self._at_path)(self.at)

    def _at_path(self, pool: Value) -> list[Value]:
        return pool.every(*steps(self._form.machine))

    @property
    def machines_at(self) -> Value:
        """Field with the names of its machines."""
        return self.at.get(*(step for step in steps(self._form.machine) if step != "*"))

    def machines_in(self, stack: Stack) -> list[Value]:
        """Return the names of its machines, if needed from a template that the pool depends on."""
        if not self.cloud.machine_templates or not self.machines_at.absent:
            return self.machines
        needed = [stack.by_urn[urn] for urn in self.resource.dependencies if urn in stack.by_urn]
        return [
            each.get(*steps(template.machine))
            for template in self.cloud.machine_templates
            for each in needed
            if template.types.fullmatch(each.type)
        ]

    def known_machines(self, stack: Stack) -> list[Machine]:
        """Its machines that are known; what the pool says beside their names may report as well."""
        machines = self.cloud.machines()
        named = [machines.get(name.text or "") for name in self.machines_in(stack)]
        found = [machine for machine in named if machine is not None]
        return found or list(self.cloud.known_machines(self))

    @property
    def labels(self) -> Value:
        """Field of its node labels: a map, or a list of keys and values."""
        return self.at.get(*steps(self._form.labels))

    def node(self, *inner: Step) -> Value:
        """Return the cloud's own field of the pool's nodes, a sibling of their labels."""
        return self.at.get(*steps(self._form.labels)[:-1], *inner)

    @property
    def has_gpus(self) -> bool:
        """True if its nodes have devices of a GPU driver."""
        return any(self.has_gpus_of(each) for each in drivers.known() if each.resources.known_by == "gpus")

    def has_gpus_of(self, driver: Driver) -> bool:
        """Return True if its nodes have a driver's GPUs, by the pool's fields, its machine or its family."""
        reported = self.cloud.known_gpus(self)
        if reported is not None:
            return driver.name in reported
        return any(self._is_machine_of(driver, machine.text) for machine in self.machines)

    def has_gpus_in(self, stack: Stack, driver: Driver) -> bool:
        """Return whether its nodes have a driver's GPUs, a launch template's machine included."""
        if self.cloud.known_gpus(self) is not None:
            return self.has_gpus_of(driver)
        return any(self._is_machine_of(driver, machine.text) for machine in self.machines_in(stack))

    def _is_machine_of(self, driver: Driver, name: str | None) -> bool:
        if name is None:
            return False
        machine = self.cloud.machines().get(name)
        if machine is not None:
            return driver.serves(machine)
        families = self.cloud.gpu_families.get(driver.name)
        return families is not None and families.match(name) is not None

    def label(self, key: str) -> Value:
        """Return the value of a node label; absent if the pool does not set the key."""
        listed = self.labels.items if isinstance(self.labels.peek, list) else []
        for item in listed:
            if item.get("key").text == key:
                return item.get("value")
        return self.labels.get(key)

    @property
    def taint_list(self) -> Value:
        """Field of its taints."""
        return self.at.get(*steps(self._form.taints))

    @property
    def taints(self) -> list[Taint]:
        """Its taints; the effect of one of which anything is unknown is empty."""
        listed = [_taint(item) for item in self.taint_list.items]
        return listed or [replace(_taint(item), key=key) for key, item in self.taint_list.entries]

    @property
    def image(self) -> Value:
        """The node image."""
        return self.at.get(*steps(self._form.image))

    @property
    def fewest(self) -> Value:
        """Minimum number of nodes; absent if the cloud chooses."""
        return self._form.fewest(self.at)

    @property
    def may_be_empty(self) -> bool:
        """True if an autoscaler may remove the pool's last node, which is the default."""
        switch = self.get(*steps(self._form.autoscaling))
        if not switch.given or switch.flag is False:
            return False
        fewest, most = self.fewest, self._form.most(self.at)
        return not fewest.unknown and not fewest.number and not (most.given and most.number == 0)


def steps(dotted: str) -> tuple[str, ...]:
    """Return the steps of a dotted path; none for an empty path."""
    return tuple(dotted.split(".")) if dotted else ()


def _taint(item: Value) -> Taint:
    text = item.text
    if text is not None:
        match = _TAINT_TEXT.fullmatch(text)
        if match is None:
            return Taint(key="", effect="")
        return Taint(key=match["key"], value=match["value"] or "", effect=match["effect"])
    effect = "" if item.possible and item.plain is None else item.get("effect").text or ""
    return Taint(
        key=item.get("key").text or "",
        value=item.get("value").text or "",
        effect=_EFFECTS.get(effect, effect),
    )
