"""Checks of one CEL selector, its corrected text, and the devices of a fleet that it matches.

What devices it selects is checked in `dra_fleet.check.selectors`.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.core.findings.errors import choices, mistyped
from dra_fleet.drivers.common.selectors import quoted
from dra_fleet.kubernetes.cel import (
    TRUE,
    CelDevice,
    CelInvalid,
    CelUnsupported,
    asked,
    clauses,
    declarations,
    environment,
)
from dra_fleet.kubernetes.cel.clauses import split
from dra_fleet.kubernetes.cel.minors import MULTIPLE_ALLOCATIONS_SINCE
from dra_fleet.kubernetes.cel.semver import as_semver
from dra_fleet.kubernetes.devices.names import driver_name
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from dra_fleet.check.inventory import ClusterInventory, FleetDevice
    from dra_fleet.core.findings.finding import Subject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.drivers.common.facts import DriverFacts
    from dra_fleet.kubernetes.cel import CelVerdict
    from dra_fleet.kubernetes.cel.intent import Access, Asked
    from dra_fleet.kubernetes.cel.program import DeviceCel, Program


_READERS = {"quantity": declarations.quantity, "semver": declarations.version}


class CompiledSelector(Struct, frozen=True, kw_only=True, eq=False):
    """A selector of a file that compiles; `path` is where its expression stands."""

    expression: str
    path: Path
    program: Program


def compiled(
    expression: str, path: Path, subject: Subject, environment: DeviceCel, driver: str = ""
) -> CompiledSelector | None:
    """Compile a selector; report the problem and return None if it cannot be used.

    Args:
        expression: the selector.
        path: its place.
        subject: the object that holds it.
        environment: the CEL of a Kubernetes version.
        driver: the driver that the class of its request selects; "" if unknown.
    """
    try:
        program = environment.compile(expression)
    except CelInvalid as invalid:
        fix = _fix(expression, environment, driver)
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
    return selector if not _misuses(selector, subject, environment, driver) else None


def _fix(expression: str, environment: DeviceCel, driver: str) -> str:
    if "allowMultipleAllocations" in expression and environment.number < MULTIPLE_ALLOCATIONS_SINCE:
        return f"leave device.allowMultipleAllocations out below Kubernetes 1.{MULTIPLE_ALLOCATIONS_SINCE}"
    return corrected(expression, environment, driver)


def _misuses(selector: CompiledSelector, subject: Subject, environment: DeviceCel, driver: str) -> bool:
    """Report parts that are wrong for all devices; return whether there were any."""
    asks = asked(selector.expression)
    problems = [
        *_impossible_drivers(asks),
        *_prefixed(selector, environment, driver),
        *_wrong_comparisons(selector, asks, environment),
        *_wrong_literals(selector, asks, environment, driver),
    ]
    for what, fix in problems:
        subject.error(*selector.path, rule="cel-never-true", what=what, got=selector.expression, fix=fix)
    return bool(problems)


def _impossible_drivers(asks: Asked) -> Iterator[tuple[str, str]]:
    for name in sorted(asks.drivers):
        problem = driver_name(name)
        if problem is not None:
            domain, _, product = name.partition("/")
            meant = f"{product}.{domain}"
            fix = f"device.driver == {quoted(meant)}" if drivers.publishing(meant) is not None else ""
            yield f"matches nothing: the name of driver {name!r} {problem}", fix


def _prefixed(selector: CompiledSelector, environment: DeviceCel, driver: str) -> Iterator[tuple[str, str]]:
    domains = {read.domain for read in selector.program.lookups if read.domain and "/" in read.domain}
    for domain in sorted(domains):
        yield (
            f"looks up {domain!r} as one key; domain and id are two look-ups, so that it matches nothing",
            corrected(selector.expression, environment, driver),
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
            fix = versions_compared(selector.expression, frozenset({name}), environment)
            yield what, fix or f"use .compareTo(semver('1.2.3')) {found.operator} 0"
        else:
            yield (
                f"compares {name}, which is a {kind}, with a {found.literal}; they are never equal",
                f"compare it with a {kind}",
            )


def _wrong_literals(
    selector: CompiledSelector, asks: Asked, environment: DeviceCel, driver: str
) -> Iterator[tuple[str, str]]:
    for function, text in asks.conversions:
        try:
            _READERS[function](text)
        except ValueError:
            fix = (
                "write three numbers without a v: 580.65.6" if function == "semver" else _without_bytes(text)
            )
            proposal = corrected(selector.expression, environment, driver)
            yield f"{function}({text!r}) is a run-time error: that is not a {function}", proposal or fix


def _without_bytes(text: str) -> str:
    """Return the fix of a quantity with a space, or with the B that quantities do not have."""
    meant = text.replace(" ", "").removesuffix("B")
    try:
        Quantity.parse(meant)
    except ValueError:
        return "write a number with a unit, such as 10Gi"
    return f"write {meant}"


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
        return f"{what}; it is in {other}", "", proposal(expression, fix)
    places = [place for place, names in _elsewhere(facts, variable) if identity in names]
    for place in places:
        if len(places) == 1:
            new = renamed(expression, variable, (domain, identity), (place, identity))
            fix = proposal(expression, new)
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


STANDARD = "resource.kubernetes.io"
# The patterns are compiled by their first use: most files need none of them.
_PREFIXED = r"""\[\s*(?P<quote>['"])(?P<domain>[^'"/]+)/(?P<id>\w+)(?P=quote)\s*\]"""
_LOOKUP = r"""device\.{variable}\s*\[\s*['"][^'"]+['"]\s*\]\s*(?:\.\s*\w+|\[\s*['"]\w+['"]\s*\])"""
_LITERAL = r"""(?P<quote>['"]?)(?P<text>[\w.+-]+)(?P=quote)"""
_OPERATOR = r"\s*(?P<operator>==|!=|<=|>=|<|>)\s*"
_AMOUNT = rf"(?P<lookup>{_LOOKUP.format(variable='capacity')}){_OPERATOR}{_LITERAL}"
_VERSION = rf"(?P<lookup>{_LOOKUP.format(variable='attributes')}){_OPERATOR}{_LITERAL}"


_ATTRIBUTE, _CAPACITY = _LOOKUP.format(variable="attributes"), _LOOKUP.format(variable="capacity")
_NAMES = (
    # The name of a variable or field as it is elsewhere, and one sign too few.
    (r"""(?<![\w.'"/])(attributes|capacity)(?=\s*\[)""", r"device.\1"),
    (r"\bdevice\.attribute\b", "device.attributes"),
    (r"\bdevice\.capacities\b", "device.capacity"),
    (r"\bdevice\.driverName\b", "device.driver"),
    (r"(?<![=!<>])=(?!=)", "=="),
    # Words and functions of other languages.
    (r"\band\b", "&&"),
    (r"\bor\b", "||"),
    (r"\bnot\s+", "!"),
    (r"\.startswith\(", ".startsWith("),
    (r"\.endswith\(", ".endsWith("),
    (r"\.(?:toLowerCase|lower)\(", ".lowerAscii("),
)
_TEXT = r"""('[^']*'|"[^"]*")"""
_COMPARISONS = (
    # A slice holds {string: …}, a selector sees the value itself.
    (rf"({_ATTRIBUTE}|{_CAPACITY})\.(?:string|int|bool|version|value|quantity)(?:Value)?\b(?!\s*\()", r"\1"),
    (r"""has\((device\.\w+\s*\[[^]]+\])\s*\[\s*(['"]\w+['"])\s*\]\)""", r"\2 in \1"),
    (rf"({_CAPACITY}){_OPERATOR}(quantity\([^()]*\))", r"\1.compareTo(\3) \2 0"),
    (rf"(quantity\([^()]*\)){_OPERATOR}({_CAPACITY})", r"\1.compareTo(\3) \2 0"),
    (_AMOUNT, r"\g<lookup>.compareTo(quantity('\g<text>')) \g<operator> 0"),
    (rf"({_ATTRIBUTE}){_OPERATOR}(semver\([^()]*\))", r"\1.compareTo(\3) \2 0"),
    (rf"(semver\([^()]*\)){_OPERATOR}({_ATTRIBUTE})", r"\1.compareTo(\3) \2 0"),
    (rf"({_CAPACITY})\.(isGreaterThan|isLessThan|compareTo)\((['\"][^'\"]*['\"])\)", r"\1.\2(quantity(\3))"),
    (rf"({_ATTRIBUTE})\.(isGreaterThan|isLessThan|compareTo)\((['\"][^'\"]*['\"])\)", r"\1.\2(semver(\3))"),
    (r"""semver\((['"])(\d+)\1\)""", r"semver(\1\2.0.0\1)"),
    (r"""semver\((['"])(\d+\.\d+)\1\)""", r"semver(\1\2.0\1)"),
)
"""Frequent wrong comparisons and their corrections."""
_TWICE = r"""\[\s*(['"])(?P<domain>[^'"/]+)\1\s*\]\s*\[\s*(['"])(?P=domain)/(?P<id>\w+)\3\s*\]"""
_INDEXED = r"""\bdevice\s*\[\s*(['"])(driver|attributes|capacity|allowMultipleAllocations)\1\s*\]"""
_NO_DOMAIN = (
    r"""device\.(?P<variable>attributes|capacity)"""
    r"""(?:\.(?P<name>\w+)|\[\s*(?P<quote>['"])(?P<key>\w+)(?P=quote)\s*\])"""
)
_DRIVER = r"""device\.driver\s*==\s*(['"])(?P<driver>[^'"]+)\1"""


@lru_cache(maxsize=4096)
def corrected(expression: str, cel: DeviceCel, driver: str = "") -> str:
    """Return the intended expression: two look-ups, the driver's domain, compared quantities and versions.

    Args:
        expression: the selector.
        cel: the CEL of a Kubernetes version.
        driver: the driver whose devices it is evaluated on; "" if only the selector itself may name it.

    Returns:
        The expression, or "" if it is the same, does not compile, or has a look-up of an unknown domain.
    """
    meant = _meant(expression, driver)
    is_sure = not any(map(_domains_of, re.finditer(_NO_DOMAIN, meant)))
    return _proposal(expression, meant, cel) if is_sure else ""


@lru_cache(maxsize=4096)
def _meant(expression: str, driver: str) -> str:
    text = re.sub(_INDEXED, r"device.\2", expression)
    text = re.sub(_TWICE, r"[\1\g<domain>\1].\g<id>", text)
    text = re.sub(_PREFIXED, _looked_up, text)
    pieces = re.split(_TEXT, text)
    for pattern, meant in _NAMES:
        pieces[::2] = [re.sub(pattern, meant, piece) for piece in pieces[::2]]
    text = "".join(pieces)
    named = re.search(_DRIVER, text)
    publisher = named["driver"] if named else driver
    text = re.sub(_NO_DOMAIN, lambda match: _with_domain(match, publisher), text)
    for pattern, meant in _COMPARISONS:
        text = re.sub(pattern, meant, text)
    versions = (
        item.name for known in drivers.known() for item in known.facts.attributes if item.type == "version"
    )
    return _as_versions(text, frozenset(versions))


def _looked_up(match: re.Match[str]) -> str:
    """Rewrite a prefixed key as two look-ups, if the prefix is a domain of device attributes."""
    domain = match["domain"]
    if drivers.publishing(domain) is None and domain != STANDARD:
        return match[0]
    return f"[{match['quote']}{domain}{match['quote']}].{match['id']}"


def _with_domain(match: re.Match[str], driver: str) -> str:
    """Return a look-up with the domain of the driver that publishes it, if it is certain which one does."""
    domains = _domains_of(match, driver)
    name = match["name"] or match["key"]
    return f"device.{match['variable']}['{domains.pop()}'].{name}" if len(domains) == 1 else match[0]


def _domains_of(match: re.Match[str], driver: str = "") -> set[str]:
    """Return the domains in which a driver, or any, publishes what a look-up without a domain names."""
    name = match["name"] or match["key"]
    return {
        item.name.rpartition("/")[0] or known.facts.driver
        for known in drivers.known()
        if driver in ("", known.facts.driver)
        for item in (known.facts.attributes if match["variable"] == "attributes" else known.facts.capacities)
        if item.name.rpartition("/")[2] == name
    }


def versions_compared(expression: str, names: frozenset[str], cel: DeviceCel) -> str:
    """Compare the version attributes of these names as versions."""
    return _proposal(expression, _as_versions(expression, names), cel)


def _as_versions(expression: str, names: frozenset[str]) -> str:
    def compared(match: re.Match[str]) -> str:
        name = re.findall(r"\w+", match["lookup"])[-1]
        if name not in names or not match["quote"] or not match["text"][0].isdigit():
            return match[0]
        version = as_semver(match["text"])
        return f"{match['lookup']}.compareTo(semver('{version}')) {match['operator']} 0"

    return re.sub(_VERSION, compared, expression)


def renamed(expression: str, variable: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """Replace the domain and id of one look-up; return an empty text for unusual spellings."""
    domain, identity = old
    text = (
        rf"""{re.escape(variable)}\s*\[\s*(['"]){re.escape(domain)}\1\s*\]\s*\.\s*{re.escape(identity)}\b"""
    )
    changed = re.sub(text, lambda match: f"{variable}[{match[1]}{new[0]}{match[1]}].{new[1]}", expression)
    return changed if changed != expression else ""


def guarded_by_driver(expression: str, driver: str) -> str:
    """Add a condition on the driver in front."""
    return f"device.driver == {quoted(driver)} && {_operand(expression)}"


def guarded_by_presence(expression: str, variable: str, domain: str, identity: str) -> str:
    """Add a condition on the presence of an id before its value."""
    guard = f"{quoted(identity)} in {variable}[{quoted(domain)}]"
    parts = split(expression)
    operands = parts.operands if parts.operator == "&&" else [expression.strip()]
    mention = re.compile(rf"\b{re.escape(identity)}\b")
    place = next((index for index, text in enumerate(operands) if mention.search(text)), 0)
    return " && ".join([*map(_operand, operands[:place]), guard, *map(_operand, operands[place:])])


def of_type(expression: str, driver: str, kind: str) -> str:
    """Add a condition on the type of the device."""
    return f"{_operand(expression)} && device.attributes[{quoted(driver)}].type == {quoted(kind)}"


def _operand(expression: str) -> str:
    text = expression.strip()
    return f"({text})" if split(text).operator in ("||", "?") else text


def proposal(old: str, new: str) -> str:
    """Return a proposal for an expression, or "" if it is the same or does not compile."""
    return _proposal(old, new, environment(kubernetes_facts().newest)) if new else ""


def _proposal(old: str, new: str, cel: DeviceCel) -> str:
    if new == old:
        return ""
    try:
        cel.compile(new)
    except (CelInvalid, CelUnsupported):
        return ""
    return new


FOREIGN = CelDevice.of({"name": "foreign"}, "other.example.com")
"""A device of a driver that no one thought of, such as a NIC: no selector may fail on it."""


Programs = dict[str, list["Program"]]
"""Per cluster, compiled selectors in the order of evaluation."""


class Checked(Struct, frozen=True, kw_only=True, eq=False):
    """A device and what the selectors say about it; `program` is the one of them that decided."""

    device: FleetDevice
    verdict: CelVerdict
    program: Program | None
    programs: Sequence[Program]


def verdict(programs: Sequence[Program], device: CelDevice) -> tuple[CelVerdict, Program | None]:
    """Evaluate selectors in order; the first that is not true decides.

    After an unknown one the next are still asked, because a false one decides whatever the unknown is.
    """
    undecided: tuple[CelVerdict, Program | None] = (TRUE, None)
    for program in programs:
        found = program.evaluate(device)
        if found.outcome in ("false", "error"):
            return (found, program) if undecided[0] or found.outcome == "false" else undecided
        if not found and undecided[0]:
            undecided = (found, program)
    return undecided


def check(programs: Sequence[Program], devices: Iterable[FleetDevice]) -> list[Checked]:
    """Evaluate selectors on each device."""
    found: list[Checked] = []
    for device in devices:
        outcome, program = verdict(programs, device.cel)
        found.append(Checked(device=device, verdict=outcome, program=program, programs=programs))
    return found


def devices(clusters: Iterable[ClusterInventory]) -> list[FleetDevice]:
    """Return the devices of one node of every pool."""
    return [device for cluster in clusters for pool in cluster.pools for device in pool.devices]


class NoMatch(Struct, frozen=True, kw_only=True):
    """Reason why no device matches.

    Attributes:
        expression: The selector that stops the nearest devices; empty where there are no devices.
        what: In words the clause of it that is not true, and on which device.
        found: The values that the devices have there.
    """

    expression: str = ""
    what: str = ""
    found: str = ""


def why_none(checked: Sequence[Checked], environment: DeviceCel) -> NoMatch:
    """Explain why no device matches, by the devices that meet the most clauses of all selectors.

    Of devices that meet equally many, those that meet the first clause are nearer: a class begins with its
    driver.
    """
    stops = [(_first_false(item, environment), item) for item in checked if item.program is not None]
    if not stops:
        return NoMatch()
    first = max((stop for stop, _ in stops), key=lambda stop: stop[:2])
    alike = [item for stop, item in stops if stop == first]
    clause, stopped = first[2], [item.device for item in alike]
    likeness = [
        (_likeness(clause, item, environment), _amounts(clause, item.device, environment)) for item in alike
    ]
    nearest = alike[likeness.index(max(likeness))]
    found = _values(clause, environment, [nearest.device, *stopped])
    what = f"`{clause}` is not true on {nearest.device.name} of pool {nearest.device.pool}"
    reported = f"{what} ({found})" if found else what
    return NoMatch(
        expression=nearest.program.expression if nearest.program else "", what=reported, found=found
    )


def counted(found: Iterable[FleetDevice]) -> str:
    """Devices by pool and type: "8 of type gpu in pool h100"."""
    groups = Counter((device.pool, device.type) for device in found)
    return ", ".join(
        f"{count}{f' of type {kind}' if kind else ''} in pool {pool}"
        for (pool, kind), count in groups.items()
    )


def _first_false(item: Checked, environment: DeviceCel) -> tuple[int, bool, str]:
    """Return the number of clauses that are or may be true, if the first is one, and the first false one."""
    parts = [clause for program in item.programs for clause in clauses(program.expression)]
    outcomes = {clause: environment.operand(clause).evaluate(item.device.cel).outcome for clause in parts}
    missed = [clause for clause in parts if outcomes[clause] in ("false", "error")]
    return len(parts) - len(missed), parts[0] not in missed, (missed or parts)[0]


_TEXTS = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def _likeness(clause: str, item: Checked, environment: DeviceCel) -> float:
    """Return how alike a text of the clause that stops a device is to the device's value, from 0 to 1."""
    value = _values(clause, environment, [item.device]).lower()
    texts = [(first or second).lower() for first, second in _TEXTS.findall(clause)]
    return max((SequenceMatcher(None, text, value).ratio() for text in texts if value), default=0.0)


def _amounts(clause: str, device: FleetDevice, environment: DeviceCel) -> list[Fraction]:
    reads = sorted(environment.operand(clause).lookups, key=str)
    texts = [
        device.value(read.variable, read.domain, read.identity)
        for read in reads
        if read.variable == "device.capacity" and read.domain and read.identity
    ]
    return [Quantity.parse(text).amount for text in texts if text]


def _values(clause: str, environment: DeviceCel, stopped: Sequence[FleetDevice]) -> str:
    reads = sorted(environment.operand(clause).lookups, key=str)
    reported = [
        text
        for read in reads
        if read.domain and read.identity
        for text in [_value(read.variable, read.domain, read.identity, stopped)]
        if text
    ]
    return ", ".join(reported)


def _value(variable: str, domain: str, identity: str, stopped: Sequence[FleetDevice]) -> str:
    """Return the value found; for capacities the largest among the devices that the clause excludes."""
    found = [text for device in stopped if (text := device.value(variable, domain, identity))]
    if not found:
        return ""
    if variable == "device.capacity":
        return f"{identity} {max(found, key=lambda text: Quantity.parse(text).amount)}"
    return f"{identity} {found[0]}"
