"""Proposes the corrected text of a selector. A proposal that does not compile is not made."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.cel import CelInvalid, CelUnsupported
from dra_fleet.cel.clauses import split
from dra_fleet.drivers.common.selectors import quoted
from dra_fleet.drivers.nvidia.devices import as_semver

if TYPE_CHECKING:
    from dra_fleet.cel.program import DeviceCel

_PREFIXED = re.compile(r"""\[\s*(?P<quote>['"])(?P<domain>[^'"/]+)/(?P<id>\w+)(?P=quote)\s*\]""")
_LOOKUP = r"""device\.{variable}\s*\[\s*['"][^'"]+['"]\s*\]\s*(?:\.\s*\w+|\[\s*['"]\w+['"]\s*\])"""
_LITERAL = r"""(?P<quote>['"]?)(?P<text>[\w.+-]+)(?P=quote)"""
_OPERATOR = r"\s*(?P<operator>==|!=|<=|>=|<|>)\s*"
_AMOUNT = re.compile(rf"(?P<lookup>{_LOOKUP.format(variable='capacity')}){_OPERATOR}{_LITERAL}")
_VERSION = re.compile(rf"(?P<lookup>{_LOOKUP.format(variable='attributes')}){_OPERATOR}{_LITERAL}")


def corrected(expression: str, environment: DeviceCel) -> str:
    """With `["domain/id"]` as two look-ups, and capacities compared as quantities."""
    text = _PREFIXED.sub(r"[\g<quote>\g<domain>\g<quote>].\g<id>", expression)
    text = _AMOUNT.sub(r"\g<lookup>.compareTo(quantity('\g<text>')) \g<operator> 0", text)
    return _proposal(expression, text, environment)


def versions_compared(expression: str, names: frozenset[str], environment: DeviceCel) -> str:
    """With the version attributes of these names compared as versions."""

    def compared(match: re.Match[str]) -> str:
        name = re.findall(r"\w+", match["lookup"])[-1]
        if name not in names or not match["quote"] or not match["text"][0].isdigit():
            return match[0]
        version = as_semver(match["text"])
        return f"{match['lookup']}.compareTo(semver('{version}')) {match['operator']} 0"

    return _proposal(expression, _VERSION.sub(compared, expression), environment)


def renamed(expression: str, variable: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """With one look-up's domain and id replaced; empty if it is not written the usual way."""
    domain, identity = old
    text = (
        rf"""{re.escape(variable)}\s*\[\s*(['"]){re.escape(domain)}\1\s*\]\s*\.\s*{re.escape(identity)}\b"""
    )
    changed = re.sub(text, lambda match: f"{variable}[{match[1]}{new[0]}{match[1]}].{new[1]}", expression)
    return changed if changed != expression else ""


def guarded_by_driver(expression: str, driver: str) -> str:
    """With the driver asked first."""
    return f"device.driver == {quoted(driver)} && {_operand(expression)}"


def guarded_by_presence(expression: str, variable: str, domain: str, identity: str) -> str:
    """With the presence of an id asked before its value."""
    guard = f"{quoted(identity)} in {variable}[{quoted(domain)}]"
    parts = split(expression)
    operands = parts.operands if parts.operator == "&&" else [expression.strip()]
    mention = re.compile(rf"\b{re.escape(identity)}\b")
    place = next((index for index, text in enumerate(operands) if mention.search(text)), 0)
    return " && ".join([*map(_operand, operands[:place]), guard, *map(_operand, operands[place:])])


def of_type(expression: str, driver: str, kind: str) -> str:
    """With devices of one type only."""
    return f"{_operand(expression)} && device.attributes[{quoted(driver)}].type == {quoted(kind)}"


def _operand(expression: str) -> str:
    text = expression.strip()
    return f"({text})" if split(text).operator in ("||", "?") else text


def _proposal(old: str, new: str, environment: DeviceCel) -> str:
    if new == old:
        return ""
    try:
        environment.compile(new)
    except (CelInvalid, CelUnsupported):
        return ""
    return new
