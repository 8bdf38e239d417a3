"""Operators that install the devices' driver on nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.policy.reading.charts import INSTALLED_TYPES, releases
from dra_fleet.policy.reading.plugins import is_on

if TYPE_CHECKING:
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers.resources import Operator
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.reading.homes import Homes


@dataclass(frozen=True, kw_only=True)
class InstalledOperator:
    """An operator's chart in a program."""

    release: ChartRelease
    kind: Operator

    @property
    def resource(self) -> Resource:
        """The resource that installs it."""
        return self.release.resource

    @property
    def switch(self) -> Value:
        """Value that decides whether the operator installs the devices' driver."""
        return self.release.value(self.kind.kernel_driver.key)

    @property
    def installs_driver(self) -> bool:
        """True if the operator installs the devices' driver; False if unknown, which is noted."""
        return is_on(self.release, self.kind.kernel_driver)

    @property
    def root(self) -> str:
        """Installation directory of the driver."""
        return self.release.value(self.kind.root).text or self.kind.default_root


def operators(stack: Stack) -> list[InstalledOperator]:
    """Return the operators that a program installs."""
    return [
        InstalledOperator(release=each, kind=each.operator)
        for resource in stack.of(INSTALLED_TYPES)
        for each in releases(resource)
        if each.operator is not None
    ]


def installer_for(pool: NodePool, among: list[InstalledOperator], homes: Homes) -> InstalledOperator | None:
    """Return the operator that installs the GPU driver on a pool's nodes."""
    near = [
        each
        for each in among
        if not any(pool.label(key).text == "false" for key in each.kind.kernel_driver_kept_off)
        and homes.together(pool.resource, each.resource)
    ]
    return next((each for each in near if each.installs_driver), None)
