from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.kubernetes.cel import CelDevice, CelInvalid, CelUnsupported, environment
from dra_fleet.kubernetes.cel.declarations import list_signatures, signatures
from dra_fleet.rehearsal.tools import recipes
from tests.proof.kubernetes_reference import ENDS, MINORS, ask
from tests.proof.selector_cases import SelectorCases
from tests.proof.selector_values import DEVICES, DRIVER
from tests.proof.shrinking import shrunk_text
from tests.proof.upstream_bugs import UpstreamBug, upstream_bugs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Compared = Callable[[str, Mapping[str, int]], None]

pytestmark = pytest.mark.engine

SEED = 20261121
CASES = 5000
HALF = CASES // 2
MOST_UNSUPPORTED = 0.05
UNSUPPORTED = "not evaluated here"
OFTEN = (
    "refused",
    "type errors",
    "missing keys",
    "with quantities",
    "with versions",
    "answers error",
    "answers true",
    "answers false",
)
"""Kinds that at least 5 % of all cases have."""
NOT_EVALUATED = "cannot be evaluated here"
BUGS = upstream_bugs()
WRITTEN = sorted(Path(__file__).with_name("selectors").glob("*.txt"))
"""Selectors written by hand, for what random ones seldom meet."""
Bugs = tuple[UpstreamBug, ...]


def questions(expressions: list[str]) -> list[dict[str, Any]]:
    return [{"expression": text, "driver": DRIVER, "devices": DEVICES} for text in expressions]


def difference(expression: str, theirs: dict[str, Any], minor: int, counts: Counter[str]) -> str:
    """Return the difference of our verdict, or an empty text."""
    assert "panic" not in theirs, theirs
    refused = theirs["refused"]
    try:
        program = environment(f"1.{minor}").compile(expression)
    except CelUnsupported as problem:
        counts[UNSUPPORTED] += 1
        is_type_error = refused.startswith("compilation failed") and NOT_EVALUATED in str(problem)
        return f"type-checked, but {refused}" if is_type_error else ""
    except CelInvalid as problem:
        counts["refused"] += 1
        return "" if refused else f"refused: {problem}"
    if refused:
        return f"accepted, but {refused}"
    if program.cost != theirs["cost"]:
        return f"cost {program.cost}, not {theirs['cost']}"
    for device, result in zip(DEVICES, theirs["results"], strict=True):
        requested = "error" if result["error"] else str(result["matches"]).lower()
        counts[f"answers {requested}"] += 1
        verdict = program.evaluate(CelDevice.of(device, DRIVER))
        if verdict.outcome != requested:
            return f"on {device['name']}: {verdict}, not {result}"
    return ""


def known(expression: str, theirs: dict[str, Any], minor: int, bugs: Bugs) -> UpstreamBug | None:
    """The listed bug that a case runs into."""
    texts = [expression, *(result["error"] for result in theirs["results"] or ())]
    return next(
        (bug for bug in bugs if minor in bug.minors and any(bug.text in text for text in texts)), None
    )


def agree(
    minor: int, expressions: list[str], seed: int, compared: Compared, bugs: Bugs = BUGS.selectors
) -> Counter[str]:
    print(f"1.{minor}, seed {seed}")  # noqa: T201 - shown where the test fails
    counts: Counter[str] = Counter()
    for expression, theirs in zip(
        expressions, ask("selector", questions(expressions), minor=minor), strict=True
    ):
        counts += contents(expression, theirs)
        unsupported = counts[UNSUPPORTED]
        differs = difference(expression, theirs, minor, counts)
        if differs and known(expression, theirs, minor, bugs):
            counts["upstream bugs"] += 1
        elif differs:
            refuse(expression, differs, minor, bugs)
        else:
            counts["agreed"] += counts[UNSUPPORTED] == unsupported
    compared(f"selectors on 1.{minor} (seed {seed})", {"cases": len(expressions), **counts})
    return counts


def contents(expression: str, theirs: dict[str, Any]) -> Counter[str]:
    """Return the kinds of a case, from the server's messages."""
    errors = " ".join(result["error"] for result in theirs["results"] or ())
    found = {
        "type errors": "found no matching overload" in theirs["refused"],
        "missing keys": "no such key" in errors,
        "with quantities": "quantity(" in expression or "device.capacity" in expression,
        "with versions": "semver(" in expression or "driverVersion" in expression,
    }
    return Counter(name for name, holds in found.items() if holds)


def check(minor: int, expressions: list[str], compared: Compared) -> None:
    """Agree on all of them, of which enough are checked in each way."""
    counts = agree(minor, expressions, SEED + minor, compared)
    assert counts[UNSUPPORTED] <= MOST_UNSUPPORTED * len(expressions)
    assert min(counts[name] for name in OFTEN) > len(expressions) / 20


def refuse(expression: str, differs: str, minor: int, bugs: Bugs) -> None:
    """Fail with the smallest expression that shows the same kind of difference."""
    kind = differs.partition(" ")[0]

    def still_differs(smaller: str) -> bool:
        (theirs,) = ask("selector", questions([smaller]), minor=minor)
        found = difference(smaller, theirs, minor, Counter())
        return found.startswith(kind) and not known(smaller, theirs, minor, bugs)

    smallest = shrunk_text(expression, still_differs)
    (theirs,) = ask("selector", questions([smallest]), minor=minor)
    pytest.fail(f"1.{minor} {smallest}: {difference(smallest, theirs, minor, Counter())}")


def written(file: Path) -> list[str]:
    return [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("//")]


PLANNED_FUNCTIONS = {"includes"}
"""Functions of no minor that is compared here. The upstream tables with lists call them."""


def drawn(minor: int) -> list[str]:
    generator = SelectorCases(SEED + minor)
    return [generator.draw() for _ in range(CASES)]


@pytest.mark.parametrize("minor", MINORS)
def test_every_function_occurs(minor: int) -> None:
    texts = [*drawn(minor)[:HALF], *(text for file in WRITTEN for text in written(file))]
    called = {name for text in texts for name in re.findall(r"([\w.]+)\(", text)}
    plain = called | {name.rpartition(".")[2] for name in called}
    functions = {
        found.name
        for found in (*signatures(), *list_signatures())
        if found.is_evaluated and not found.name.startswith("_")
    }
    assert sorted(functions - plain - PLANNED_FUNCTIONS) == []


@pytest.mark.parametrize("minor", ENDS)
def test_selectors_are_checked_as_kubernetes_checks_them(minor: int, compared: Compared) -> None:
    check(minor, drawn(minor)[:HALF], compared)


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.stem)
@pytest.mark.parametrize("minor", MINORS)
def test_selectors_written_by_hand_are_checked_as_kubernetes_checks_them(
    minor: int, file: Path, compared: Compared
) -> None:
    agree(minor, written(file), SEED, compared)


@pytest.mark.full
@pytest.mark.parametrize("minor", MINORS)
def test_the_other_half_of_the_selectors_is_checked_as_kubernetes_checks_it(
    minor: int, compared: Compared
) -> None:
    check(minor, drawn(minor)[HALF:], compared)


@pytest.mark.parametrize("bug", BUGS.selectors, ids=lambda bug: bug.what)
def test_every_listed_upstream_bug_is_still_there(bug: UpstreamBug) -> None:
    for minor in bug.minors:
        (theirs,) = ask("selector", questions([bug.example]), minor=minor)
        assert difference(bug.example, theirs, minor, Counter()), f"1.{minor} checks {bug.example} as we do"
        assert known(bug.example, theirs, minor, BUGS.selectors) == bug


def test_the_list_has_the_versions_of_the_upstream_references() -> None:
    pinned = {minor: recipes.reference(f"1.{minor}").version for minor in MINORS}
    assert pinned == {minor: f"v{version}" for minor, version in BUGS.libraries.items()}


def test_a_difference_is_shown_by_its_smallest_expression() -> None:
    expression = "device.driver.startsWith('gpu') && (1 == 2 || 0.0 / 0.0 < 1.0)"
    with pytest.raises(pytest.fail.Exception, match=r"^1\.36 \S{6,14}: on full: "):
        agree(36, [expression], SEED, lambda _title, _counts: None, bugs=())
