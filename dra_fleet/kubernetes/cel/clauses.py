"""Take an expression apart where its logic is, into conditions with their source text."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import Literal, NamedTuple

Operator = Literal["?", "||", "&&", "!", ""]

_TOKEN = re.compile(
    r"""
    (?P<raw>[bB]?[rR][bB]?(?:'''.*?'''|\"\"\".*?\"\"\"|'[^'\n]*'|"[^"\n]*"))
  | (?P<string>[bB]?(?:'''(?:\\.|.)*?'''|\"\"\"(?:\\.|.)*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
  | (?P<comment>//[^\n]*)
  | (?P<word>[A-Za-z_0-9]+)
  | (?P<operator>&&|\|\||[?:!]=?)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Operands(NamedTuple):
    """An expression's outermost logical operator and its operands' source texts."""

    operator: Operator
    operands: tuple[str, ...]


@lru_cache(maxsize=4096)
def clauses(expression: str) -> tuple[str, ...]:
    """Return the operands of the top-level ``&&`` in order, as written, or the whole expression.

    Parentheses around a conjunction are looked through, so ``(a && b) && c`` has three clauses.
    """
    part = split(expression)
    if part.operator != "&&":
        return (expression.strip(),)
    return tuple(clause for operand in part.operands for clause in clauses(operand))


@lru_cache(maxsize=4096)
def split(expression: str) -> Operands:
    """Split at the outermost of ``?:``, ``||``, ``&&`` and ``!`` by precedence; "" if there is none."""
    text = _unwrapped(expression)
    places = _outer_operators(text)
    question = next((place for place in places if place[1] == "?"), None)
    if question is not None:
        return Operands("?", tuple(_ternary(text, question[0], places)))
    operators: tuple[Operator, ...] = ("||", "&&")
    for operator in operators:
        found = [start for start, token in places if token == operator]
        if found:
            bounds = [-2, *found, len(text)]
            return Operands(operator, tuple(text[a + 2 : b].strip() for a, b in itertools.pairwise(bounds)))
    if text.startswith("!") and _is_single_operand(text[1:]):
        return Operands("!", (text[1:].strip(),))
    return Operands("", (text,))


def _outer_operators(text: str) -> list[tuple[int, str]]:
    """Return the positions of operators outside of brackets and strings."""
    depth = 0
    places: list[tuple[int, str]] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "operator" and depth == 0 and not _is_optional_selector(text, match.start()):
            places.append((match.start(), match[0]))
    return places


def _is_optional_selector(text: str, place: int) -> bool:
    return text[place] == "?" and place > 0 and text[place - 1] == "."


def _ternary(text: str, question: int, places: list[tuple[int, str]]) -> list[str]:
    nested = 0
    for start, token in places:
        if start <= question or token not in ("?", ":"):
            continue
        if token == "?":  # noqa: S105 - a token of CEL
            nested += 1
        elif nested == 0:
            return [text[:question].strip(), text[question + 1 : start].strip(), text[start + 1 :].strip()]
        else:
            nested -= 1
    return [text]


def _unwrapped(expression: str) -> str:
    """Strip blanks and the parentheses around the whole."""
    text = expression.strip()
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closing(text: str) -> int:
    depth = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "open":
            depth += 1
        elif match.lastgroup == "close":
            depth -= 1
            if depth == 0:
                return match.start()
    return -1


def _is_single_operand(text: str) -> bool:
    """Return True if a leading ``!`` covers all of the text.

    In a relation such as ``!a == b`` it does not.
    """
    depth = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        depth += (kind == "open") - (kind == "close")
        if depth == 0 and (match[0] in ("!=", "in") or (kind == "other" and match[0] in "=<>+-*/%")):
            return False
    return True
