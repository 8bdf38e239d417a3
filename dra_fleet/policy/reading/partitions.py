"""Partitions of devices that a program configures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.clouds.pools import NodePool, steps
from dra_fleet.drivers.divided_devices import dividable
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, releases
from dra_fleet.policy.reading.claims import SELECTING_TYPES, configs
from dra_fleet.policy.reading.clouds import all_resources, any_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers.common.facts import DriverFacts
    from dra_fleet.policy.reading.charts import ChartRelease


POOL_TYPES: Final = any_of(lambda resources: [form.types for form in resources.pools])


def pools(resource: Resource) -> list[NodePool]:
    """Return the pools that a resource declares."""
    found: list[NodePool] = []
    for resources in all_resources():
        for form in resources.pools:
            if form.types.fullmatch(resource.type) and (form.applies is None or form.applies(resource)):
                places = resource.properties.every(*steps(form.pools))
                found += [NodePool(resource, resources, form, place) for place in places if not place.absent]
    return found


_NODES: Final = re.compile(r"kubernetes:core/v1:Node(Patch)?")


def asked(stack: Stack, pool: NodePool) -> list[Value]:
    """Return the places where a pool may request partitions: labels of drivers, and fields of the cloud."""
    labels = [(pool.label(dividing.label), dividing.whole_label) for dividing in dividable()]
    found = [value for value, whole in labels if value.peek != whole]
    return [
        value
        for value in (*found, *pool.cloud.partitions(stack, pool))
        if value.possible and value.peek != ""
    ]


def divides(stack: Stack) -> bool:
    """Return whether any resource of the program divides devices.

    A pool or a node requests partitions, a driver or its operator makes them, or a claim configures one.
    """
    by_pool = (asked(stack, pool) for resource in stack.of(POOL_TYPES) for pool in pools(resource))
    return (
        any(value.peek is not None for values in by_pool for value in values)
        or any(_by_chart(installed) for each in stack.of(INSTALLED_TYPES) for installed in releases(each))
        or any(_by_label(node) for node in stack.of(_NODES))
        or any(_by_config(resource) for resource in stack.of(SELECTING_TYPES))
    )


def _by_chart(installed: ChartRelease) -> bool:
    found = installed.installs
    dividing = None if found is None else found.resources.dividable
    if dividing is not None and installed.value(dividing.switch).peek is True:
        return True
    reported = [] if installed.operator is None else [each.operator_values for each in dividable()]
    given = [(installed.value(key).peek, whole) for values in reported for key, whole in values]
    return any(isinstance(value, str) and value not in whole for value, whole in given)


def _by_label(node: Resource) -> bool:
    reported = [(node.get("metadata", "labels", each.label).peek, each.whole_label) for each in dividable()]
    return any(isinstance(value, str) and value not in ("", whole) for value, whole in reported)


def _by_config(resource: Resource) -> bool:
    kinds = [config.get("parameters", "kind").peek for config in configs(resource)]
    return any(kind in each.config_kinds for kind in kinds for each in dividable())


def shared(resource: Resource) -> Iterator[tuple[DriverFacts, Value]]:
    """Each place that chooses a sharing strategy, with the driver that it is meant for."""
    for config in configs(resource):
        facts = drivers.facts_of(config.get("driver").text or "")
        if facts is None or not facts.sharing_gates:
            continue
        strategy = config.get("parameters", "sharing", "strategy")
        if strategy.text is not None:
            yield facts, strategy
