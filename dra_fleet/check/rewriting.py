"""Proposes the corrected text of a selector. A proposal that does not compile is not made."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.drivers.common.selectors import quoted
from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, environment
from dra_fleet.kubernetes.cel.clauses import split
from dra_fleet.kubernetes.cel.semver import as_semver
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.program import DeviceCel

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
    (
        rf"({_ATTRIBUTE}|{_CAPACITY})\.(?:string|int|bool|version|value)(?:Value)?\b(?!\s*\()",
        r"\1",
    ),
    (r"""has\((device\.\w+\s*\[[^]]+\])\s*\[\s*(['"]\w+['"])\s*\]\)""", r"\2 in \1"),
    (rf"({_CAPACITY}){_OPERATOR}(quantity\([^()]*\))", r"\1.compareTo(\3) \2 0"),
    (rf"(quantity\([^()]*\)){_OPERATOR}({_CAPACITY})", r"\1.compareTo(\3) \2 0"),
    (_AMOUNT, r"\g<lookup>.compareTo(quantity('\g<text>')) \g<operator> 0"),
    (rf"({_ATTRIBUTE}){_OPERATOR}(semver\([^()]*\))", r"\1.compareTo(\3) \2 0"),
    (rf"(semver\([^()]*\)){_OPERATOR}({_ATTRIBUTE})", r"\1.compareTo(\3) \2 0"),
    (
        rf"({_CAPACITY})\.(isGreaterThan|isLessThan|compareTo)\((['\"][^'\"]*['\"])\)",
        r"\1.\2(quantity(\3))",
    ),
    (
        rf"({_ATTRIBUTE})\.(isGreaterThan|isLessThan|compareTo)\((['\"][^'\"]*['\"])\)",
        r"\1.\2(semver(\3))",
    ),
    (r"""semver\((['"])(\d+)\1\)""", r"semver(\1\2.0.0\1)"),
    (r"""semver\((['"])(\d+\.\d+)\1\)""", r"semver(\1\2.0\1)"),
)
"""Frequent wrong comparisons and their corrections."""
_TWICE = r"""\[\s*(['"])(?P<domain>[^'"/]+)\1\s*\]\s*\[\s*(['"])(?P=domain)/(?P<id>\w+)\3\s*\]"""
_NO_DOMAIN = (
    r"""device\.(?P<variable>attributes|capacity)"""
    r"""(?:\.(?P<name>\w+)|\[\s*(?P<quote>['"])(?P<key>\w+)(?P=quote)\s*\])"""
)
_DRIVER = r"""device\.driver\s*==\s*(['"])(?P<driver>[^'"]+)\1"""


@lru_cache(maxsize=4096)
def corrected(expression: str, cel: DeviceCel) -> str:
    """Return the intended expression: two look-ups, the driver's domain, compared quantities and versions."""
    return _proposal(expression, _meant(expression), cel)


@lru_cache(maxsize=4096)
def _meant(expression: str) -> str:
    text = re.sub(_TWICE, r"[\1\g<domain>\1].\g<id>", expression)
    text = re.sub(_PREFIXED, _looked_up, text)
    pieces = re.split(_TEXT, text)
    for pattern, meant in _NAMES:
        pieces[::2] = [re.sub(pattern, meant, piece) for piece in pieces[::2]]
    text = "".join(pieces)
    named = re.search(_DRIVER, text)
    text = re.sub(_NO_DOMAIN, lambda match: _with_domain(match, named["driver"] if named else ""), text)
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
    name = match["name"] or match["key"]
    domains = {
        item.name.rpartition("/")[0] or known.facts.driver
        for known in drivers.known()
        if driver in ("", known.facts.driver)
        for item in (known.facts.attributes if match["variable"] == "attributes" else known.facts.capacities)
        if item.name.rpartition("/")[2] == name
    }
    return f"device.{match['variable']}['{domains.pop()}'].{name}" if len(domains) == 1 else match[0]


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


def compiled(old: str, new: str) -> str:
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
