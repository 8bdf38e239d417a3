"""The names of charts: what a path or an address says, and what values say of a chart under another name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.clouds.pools import steps

if TYPE_CHECKING:
    from dra_fleet.core.declared.values import Value

PACKED: Final = re.compile(r"(?P<name>.+?)(-(?P<version>v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*))?\.tgz(\?.*)?")
"""A packed chart, as `helm package` names it."""


def own_name(chart: str) -> str:
    """The last part of a chart's path, address or `repo/chart`, without tag, digest and what packs it."""
    last = chart.rsplit("/", 1)[-1].partition("@")[0].partition(":")[0]
    packed = PACKED.fullmatch(last)
    return last if packed is None else packed["name"]


def known_name(name: str, values: Value) -> str:
    """A chart's name; that of a known one by its values, where no driver knows the name."""
    if is_known(name):
        return name
    for driver in drivers.known():
        for told in driver.resources.told_by_values:
            if sum(values.get(*steps(key)).possible for key in told.keys) >= told.enough:
                return told.chart
    return name


def is_known(name: str) -> bool:
    """Whether a driver knows a chart of a name: its own, an operator's, a plugin's, or one that is none."""
    for driver in drivers.known():
        resources = driver.resources
        own = [own_name(version.chart) for version in driver.facts.versions]
        own += [each.chart for each in (resources.operator, resources.device_plugin) if each is not None]
        if name in own or name in resources.discovery_charts | resources.other_charts:
            return True
    return False
