"""Every verdict on a selector is Kubernetes' own: accepted or not, its cost, and the answer per device."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from fleet.proof.cel import CelDevice, CelInvalid, CelUnsupported, environment
from tests.fleet.proof.kubernetes_oracle import ask
from tests.fleet.proof.selector_cases import SelectorCases
from tests.fleet.proof.selector_values import DEVICES, DRIVER

pytestmark = pytest.mark.engine

SEED = 20261121
LIMIT = 1_000_000
KNOWN_DIFFERENCES = {
    "NaN values cannot be ordered": "comparing NaN is an error in cel-go 0.29 and false in cel-cpp",
    "-9223372036854775808": "Quantity.sub(int) overflows on the smallest integer (apimachinery 0.36)",
}
"""Text of the expression or of the oracle's message -> why the two differ."""


def compare(expression: str, theirs: dict[str, Any], minor: int, counts: Counter[str]) -> list[str]:
    refused = bool(theirs["refused"]) or theirs["cost"] > LIMIT
    try:
        program = environment(f"1.{minor}").compile(expression)
    except CelUnsupported:
        counts["unsupported"] += 1
        return []
    except CelInvalid as problem:
        counts["refused"] += 1
        return [] if refused else [f"1.{minor} {expression}: refused: {problem}"]
    if refused:
        return [f"1.{minor} {expression}: accepted, but {theirs['refused'] or theirs['cost']}"]
    found = (
        [] if program.cost == theirs["cost"] else [f"{expression}: cost {program.cost}, not {theirs['cost']}"]
    )
    for device, result in zip(DEVICES, theirs["results"], strict=True):
        wanted = "error" if result["error"] else str(result["matches"]).lower()
        counts[wanted] += 1
        verdict = program.evaluate(CelDevice.of(device, DRIVER))
        is_known = any(text in expression or text in result["error"] for text in KNOWN_DIFFERENCES)
        if verdict.outcome != wanted and not is_known:
            found.append(f"1.{minor} {expression} on {device['name']}: {verdict}, not {result}")
    return found


def agree(minor: int, number: int, seed: int) -> None:
    cases = SelectorCases(seed)
    expressions = [cases.draw() for _ in range(number)]
    questions = [{"expression": text, "driver": DRIVER, "devices": DEVICES} for text in expressions]
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for expression, theirs in zip(expressions, ask("selector", questions, minor=minor), strict=True):
        differences += compare(expression, theirs, minor, counts)
    print(f"{number} selectors on 1.{minor}, seed {seed}: {dict(counts)}")  # noqa: T201 - the counts are part of the result
    assert min(differences, key=len, default=None) is None, f"{len(differences)} differences, seed {seed}"
    assert counts["unsupported"] < number / 50


@pytest.mark.parametrize("minor", [34, 35, 36])
def test_selectors_are_judged_as_kubernetes_judges_them(minor: int) -> None:
    agree(minor, 900, SEED + minor)


@pytest.mark.full
@pytest.mark.parametrize("minor", [34, 35, 36])
def test_five_thousand_selectors_are_judged_as_kubernetes_judges_them(minor: int) -> None:
    agree(minor, 5000, SEED + 100 * minor)
