"""What the program knows of a DRA driver beyond its facts: values for its chart, and their rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet import hardware as catalogue
from dra_fleet.drivers.common.values import value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.model.plan import ChartValues, PoolPlan


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why values are refused. `key` is the dotted value's key, or empty for the release as a whole."""

    key: str
    what: str
    got: str = ""
    allowed: str = ""
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release to be made: the chart version, where it goes, and the pools its driver serves."""

    version: ChartVersion
    minor: str
    namespace: str
    pools: Sequence[PoolPlan]


def default_namespace(release: Release, final: ChartValues) -> list[Refusal]:
    """The charts refuse the namespace `default` unless a value allows it."""
    if release.namespace != "default" or value_at(final, "allowDefaultNamespace", default=False):
        return []
    return [
        Refusal(
            key="allowDefaultNamespace",
            what="must be true to install into the namespace default; the chart refuses otherwise",
            fix="choose another namespace",
        )
    ]


@dataclass(frozen=True, kw_only=True)
class DriverSpec:
    """One DRA driver.

    Args:
        name: its name in stack files and in the catalogue.
        intents: per key of a class in the stack file, the attribute or capacity that answers it.
        values: this program's chart values for a release.
        guards: what the chart or the driver would refuse of the final values.
        settles: dotted keys that, given by the user, answer the question `conflicts` asks.
        conflicts: why one release cannot serve all its pools.
    """

    name: str
    intents: Mapping[str, str]
    values: Callable[[Release], ChartValues]
    guards: Callable[[Release, ChartValues], Sequence[Refusal]]
    conflicts: Callable[[Release], Sequence[Refusal]]
    settles: frozenset[str] = frozenset()

    @property
    def facts(self) -> DriverFacts:
        """The driver's entry in the catalogue."""
        return catalogue.load().drivers[self.name]
