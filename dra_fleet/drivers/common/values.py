"""Chart values read and merged as Helm does. What a chart version knows is checked elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from dra_fleet.drivers.resources import Switch
    from dra_fleet.model.plan import ChartValues


# Sets of CPUs as Linux writes them: 0-3,5.
#
# Source: https://github.com/kubernetes/utils, cpuset.Parse.

CPU_SET_WORDS: Final = "a set of CPUs, such as 0-3,5"

_RANGE: Final = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def merged(own: ChartValues, theirs: ChartValues) -> dict[str, Any]:
    """Values with `theirs` laid over `own`; mappings are merged, lists and null replace."""
    result: dict[str, Any] = dict(own)
    for key, value in theirs.items():
        below, above = _section(result.get(key)), _section(value)
        result[key] = value if below is None or above is None else merged(below, above)
    return result


def nested(values: Mapping[str, object]) -> dict[str, Any]:
    """Values by dotted keys as mappings within mappings."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        below: Any = value
        for part in reversed(key.split(".")):
            below = {part: below}
        result = merged(result, below)
    return result


def flow(key: str, value: str) -> str:
    """Return a value at a dotted key as a line of YAML: `a: {b: value}`."""
    *outer, last = key.split(".")
    return "".join(f"{part}: {{" for part in outer) + f"{last}: {value}" + "}" * len(outer)


def is_on(switch: Switch, values: ChartValues) -> bool:
    """Return True if values turn a switch of a chart on."""
    return bool(value_at(values, switch.key, default=switch.default))


def value_at(values: ChartValues, key: str, default: object = None) -> object:
    """Return the value of a dotted key, or the default if it is absent."""
    here: object = values
    for part in key.split("."):
        section = _section(here)
        if section is None or part not in section:
            return default
        here = section[part]
    return here


def _section(value: object) -> ChartValues | None:
    return cast("ChartValues", value) if isinstance(value, Mapping) else None


def is_cpu_set(text: str) -> bool:
    """Return True if a text names at least one CPU, and no range is reversed."""
    ranges = [_RANGE.fullmatch(part) for part in text.split(",")]
    return all(one is not None and int(one[1]) <= int(one[2] or one[1]) for one in ranges)
