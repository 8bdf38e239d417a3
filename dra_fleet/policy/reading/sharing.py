"""How classes and claims have a device shared, read from a driver's opaque configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.policy.reading.claims import configs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers.common.facts import DriverFacts


def shared(resource: Resource) -> Iterator[tuple[DriverFacts, Value]]:
    """Each place that chooses a sharing strategy, with the driver that it is meant for."""
    for config in configs(resource):
        facts = drivers.facts_of(config.get("driver").text or "")
        if facts is None or not facts.sharing_gates:
            continue
        strategy = config.get("parameters", "sharing", "strategy")
        if strategy.text is not None:
            yield facts, strategy
