"""Findings in a file, from the YAML table beside a test file.

A case has a stack file (`stack`, the lab's without it) or `clusters` (arguments of `cluster`, or one
machine), a manifest (`text`) or values of a `chart`, and all `findings`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet.check import ManifestFile, ValuesFile
from tests.check.check_helpers import LAB, ROOT, check, cluster, plan_of, plan_on


@dataclass(frozen=True)
class Case:
    given: dict[str, Any]
    expected: list[str]

    def verify(self) -> None:
        assert findings(**self.given) == self.expected


def findings(
    *,
    stack: str | None = None,
    clusters: Any = None,
    text: str | None = None,
    chart: str = "",
    values: str = "",
) -> list[str]:
    """Return the findings in a manifest, or in values of a chart, without the file's name."""
    if clusters is None:
        plan = plan_of(ROOT / stack if stack else LAB)
    else:
        plan = plan_on(**{name: cluster(**given) for name, given in clusters.items()})
    manifests = [] if text is None else [ManifestFile(name="f", data=text.encode())]
    name, _, version = chart.partition("@")
    given = [ValuesFile(chart=name, version=version, name="f", data=values.encode())] if chart else []
    return [str(finding).removeprefix("f:") for finding in check(plan, manifests, given)]


def read(file: Path) -> dict[str, dict[str, Any]]:
    """Return the cases of a table, with the clusters that they name."""
    content = yaml.safe_load(file.read_text("utf-8"))
    for case in content["cases"].values():
        if "clusters" in case:
            where = case["clusters"] if isinstance(case["clusters"], dict) else {"lab": case["clusters"]}
            case["clusters"] = {name: _arguments(content, it) for name, it in where.items()}
    return content["cases"]


def _arguments(content: dict[str, Any], given: Any) -> dict[str, Any]:
    return content.get("clusters", {}).get(given, {"machine": given}) if isinstance(given, str) else given


def table(file: str) -> pytest.MarkDecorator:
    """Parametrize `case` with the table that has the test file's name."""
    cases = read(Path(file).with_suffix(".yaml"))
    found = [pytest.param(Case(case, case.pop("findings")), id=name) for name, case in cases.items()]
    return pytest.mark.parametrize("case", found)
