"""Verdicts of a selector on a device, and errors of an expression."""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

_WORDS = (
    (re.compile(r"^[A-Z_]+: (?=ERROR:)| \[[A-Z_]+\]$"), ""),
    (re.compile(r"\nERROR: <input>:\d+:\d+: (?:expression of )?type '\*error\*'.*(?:\n \|.*)*"), ""),
    (re.compile(r" not found in struct 'kubernetes\.DRADevice'"), ""),
    (
        re.compile(r"expression of (type '[^']*') cannot be the operand of a select operation"),
        r"\1 does not support field selection",
    ),
    (re.compile(r"has\(\) argument must be a field selection"), "invalid argument to has() macro"),
    (re.compile(r"cannot be the range of"), "cannot be range of"),
    (
        re.compile(r"undeclared reference to '(bool|bytes|double|dyn|int|string|uint)' \(in container ''\)"),
        r"found no matching overload for '\1', which is not a method; write \1(VALUE)",
    ),
)
"""A server's words for those of the evaluator, which also reports what follows from its first error."""

_MISSING_KEY = re.compile(r"Key not found in map : (.*)$", re.DOTALL)

_RUNTIME_STATUS = re.compile(r"^[A-Z_]+: ")

_RUNTIME = (
    (re.compile(r"No matching overloads found"), "no such overload"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"integer overflow"), "integer overflow"),
)

Outcome = Literal["true", "false", "error", "unknown"]


class CelVerdict(Struct, frozen=True):
    """A verdict: true, false, a run-time error with its message, or unknown."""

    outcome: Outcome
    message: str = ""

    def __bool__(self) -> bool:
        """Return True if the device matches for certain."""
        return self.outcome == "true"


TRUE: Final = CelVerdict("true")

FALSE: Final = CelVerdict("false")

BEYOND: Final = "cannot be evaluated here"
"""The words for what a server can do and this evaluator cannot."""


def unknown(what: str) -> CelVerdict:
    """Return the verdict that depends on an unrecorded value."""
    return CelVerdict("unknown", f"{what} is not known before the device exists")


def error(message: str) -> CelVerdict:
    """Return the verdict of a failed evaluation, for which the scheduler gives up on the pod."""
    return CelVerdict("error", message)


class CelInvalid(Exception):  # noqa: N818 - a finding about the expression
    """The API server refuses the expression; the text is what it would say."""


class CelUnsupported(Exception):  # noqa: N818 - the expression may be right
    """The expression uses something this evaluator cannot check; it may well be valid on a server."""


def compile_error(text: str) -> str:
    """Return the message of a rejected expression, with position and source line."""
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return f"compilation failed: {text}"


def runtime_error(text: str) -> str:
    """Return the message of a failed evaluation."""
    missing = _MISSING_KEY.search(text)
    if missing:
        return f"no such key: {missing[1].strip().strip(chr(34))}"
    for pattern, words in _RUNTIME:
        if pattern.search(text):
            return words
    return _RUNTIME_STATUS.sub("", text)
