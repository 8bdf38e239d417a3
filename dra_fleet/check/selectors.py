"""Checks of one CEL selector: syntax, types, and look-ups of published names.

What devices it selects is checked in `dra_fleet.check.matching`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.check import rewriting
from dra_fleet.check.rewriting import STANDARD
from dra_fleet.core.findings.errors import choices, mistyped
from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, asked, messages
from dra_fleet.kubernetes.cel.minors import MULTIPLE_ALLOCATIONS_SINCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.findings.finding import Subject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.drivers.common.facts import DriverFacts
    from dra_fleet.kubernetes.cel.intent import Access, Asked
    from dra_fleet.kubernetes.cel.program import DeviceCel, Program

_READERS = {"quantity": messages.quantity, "semver": messages.version}


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledSelector:
    """A selector of a file that compiles; `path` is where its expression stands."""

    expression: str
    path: Path
    program: Program


def compiled(
    expression: str, path: Path, subject: Subject, environment: DeviceCel
) -> CompiledSelector | None:
    """Compile a selector; report the problem and return None if it cannot be used."""
    try:
        program = environment.compile(expression)
    except CelInvalid as invalid:
        fix = _fix(expression, environment)
        subject.error(
            *path,
            rule="cel-invalid",
            what=f"{str(invalid).splitlines()[0]} (Kubernetes {environment.minor})",
            got=expression,
            fix=fix,
        )
        return None
    except CelUnsupported as unsupported:
        subject.warning(
            *path, rule="not-judged", what=f"cannot be checked here: {unsupported}", got=expression
        )
        return None
    selector = CompiledSelector(expression=expression, path=path, program=program)
    return selector if not _misuses(selector, subject, environment) else None


def _fix(expression: str, environment: DeviceCel) -> str:
    if "allowMultipleAllocations" in expression and environment.number < MULTIPLE_ALLOCATIONS_SINCE:
        return f"leave device.allowMultipleAllocations out below Kubernetes 1.{MULTIPLE_ALLOCATIONS_SINCE}"
    return rewriting.corrected(expression, environment)


def _misuses(selector: CompiledSelector, subject: Subject, environment: DeviceCel) -> bool:
    """Report parts that are wrong for all devices; return whether there were any."""
    asks = asked(selector.expression)
    problems = [
        *_prefixed(selector, environment),
        *_wrong_comparisons(selector, asks, environment),
        *_wrong_literals(selector, asks, environment),
    ]
    for what, fix in problems:
        subject.error(*selector.path, rule="cel-never-true", what=what, got=selector.expression, fix=fix)
    return bool(problems)


def _prefixed(selector: CompiledSelector, environment: DeviceCel) -> Iterator[tuple[str, str]]:
    domains = {read.domain for read in selector.program.lookups if read.domain and "/" in read.domain}
    for domain in sorted(domains):
        yield (
            f"looks up {domain!r} as one key; domain and id are two look-ups, so that it matches nothing",
            rewriting.corrected(selector.expression, environment),
        )


def _wrong_comparisons(
    selector: CompiledSelector, asks: Asked, environment: DeviceCel
) -> Iterator[tuple[str, str]]:
    for found in asks.comparisons:
        kind = attribute_type(found.access)
        if kind is None or kind == found.literal:
            continue
        name = found.access.identity
        if kind == "version":
            what = f"compares the version {name} with a {found.literal}; versions are compared with semver()"
            fix = rewriting.versions_compared(selector.expression, frozenset({name}), environment)
            yield what, fix or f"use .compareTo(semver('1.2.3')) {found.operator} 0"
        else:
            yield (
                f"compares {name}, which is a {kind}, with a {found.literal}; they are never equal",
                f"compare it with a {kind}",
            )


def _wrong_literals(
    selector: CompiledSelector, asks: Asked, environment: DeviceCel
) -> Iterator[tuple[str, str]]:
    for function, text in asks.conversions:
        try:
            _READERS[function](text)
        except ValueError:
            fix = (
                "write three numbers without a v: 580.65.6"
                if function == "semver"
                else "write 10Gi or 9728Mi"
            )
            proposal = rewriting.corrected(selector.expression, environment)
            yield f"{function}({text!r}) is a run-time error: that is not a {function}", proposal or fix


def attribute_type(access: Access) -> str | None:
    """Return the published type of an attribute; None if no known driver publishes it."""
    if access.variable != "device.attributes":
        return None
    name = access.identity if access.domain != STANDARD else f"{STANDARD}/{access.identity}"
    for driver in drivers.known():
        if access.domain in (driver.facts.driver, STANDARD):
            for attribute in driver.facts.attributes:
                if attribute.name == name:
                    return attribute.type
    return None


def never_published(
    variable: str, domain: str, identity: str, expression: str
) -> tuple[str, str, str] | None:
    """Return the problem, allowed values and fix of a look-up that no known driver answers; or None."""
    facts = drivers.facts_of(domain)
    known = _known(facts, variable) if facts is not None else _standard(variable)
    if (facts is None and domain != STANDARD) or identity in known or identity.startswith("memorySlice"):
        return None
    what = f"no driver publishes {variable}[{domain!r}].{identity}"
    other = "device.capacity" if variable == "device.attributes" else "device.attributes"
    if facts is not None and identity in _known(facts, other):
        fix = re.sub(rf"{re.escape(variable)}(\s*\[[^]]*\]\s*\.\s*{identity}\b)", rf"{other}\1", expression)
        return f"{what}; it is in {other}", "", rewriting.compiled(expression, fix)
    places = [place for place, names in _elsewhere(facts, variable) if identity in names]
    for place in places:
        if len(places) == 1:
            new = rewriting.renamed(expression, variable, (domain, identity), (place, identity))
            fix = rewriting.compiled(expression, new)
            return f"{what}; its domain is {place}", "", fix or f"look it up in {place}"
    fix = mistyped(identity, known)
    return what, choices(identity, known), fix


def _known(facts: DriverFacts, variable: str) -> list[str]:
    items = facts.attributes if variable == "device.attributes" else facts.capacities
    return [item.name for item in items if "/" not in item.name]


def _standard(variable: str) -> list[str]:
    if variable != "device.attributes":
        return []
    names = (item.name for driver in drivers.known() for item in driver.facts.attributes)
    return sorted({name.removeprefix(f"{STANDARD}/") for name in names if name.startswith(f"{STANDARD}/")})


def _elsewhere(facts: DriverFacts | None, variable: str) -> list[tuple[str, list[str]]]:
    if facts is not None:
        return [(STANDARD, _standard(variable))]
    return [(driver.facts.driver, _known(driver.facts, variable)) for driver in drivers.known()]
