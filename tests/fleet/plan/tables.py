"""Plans of fleets that are changed in one place, from the YAML table beside a test file.

A case has the name of its fleet (`fleet`, the first one if it has none), values by path (`with`), deleted
paths (`without`), and the whole outcome: `refused`, the errors by path, or `warnings`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan

Fleet = Callable[[], dict[str, Any]]


def outcome(fleet: Mapping[str, Any]) -> dict[str, Any]:
    """Return the errors of a fleet's settings or plan by path, or the warnings of its plan."""
    try:
        return {"warnings": list(make_plan(parse(fleet)).warnings)}
    except SettingsInvalid as error:
        lines = [(item.path, str(item).partition(": ")[2]) for item in error.errors]
        return {"refused": {path.removeprefix(f"{KEY}."): text for path, text in lines}}


@dataclass(frozen=True)
class Case:
    fleet: dict[str, Any]
    expected: dict[str, Any]

    def verify(self) -> None:
        assert outcome(self.fleet) == self.expected


def table(file: str, *fleets: Fleet, **more: Fleet) -> pytest.MarkDecorator:
    """Parametrize `case` with the table that has the test file's name."""
    cases = yaml.safe_load(Path(file).with_suffix(".yaml").read_text("utf-8"))
    named = {build.__name__: build for build in fleets} | more
    found = [pytest.param(_case(named, **case), id=name) for name, case in cases.items()]
    return pytest.mark.parametrize("case", found)


def _case(fleets: Mapping[str, Fleet], **case: Any) -> Case:
    fleet = fleets[case.pop("fleet", next(iter(fleets)))]()
    for path, value in case.pop("with", {}).items():
        holder, key = _place(fleet, path)
        holder[key] = value
    for path in case.pop("without", ()):
        holder, key = _place(fleet, path)
        del holder[key]
    return Case(fleet, case)


def _place(fleet: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    *parents, key = path.split(".")
    for parent in parents:
        fleet = fleet[parent]
    return fleet, key
