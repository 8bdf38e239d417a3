"""The API server's words for what the evaluator reports in its own."""

from __future__ import annotations

import re

_STATUS = re.compile(r"^[A-Z_]+: (?=ERROR:)| \[[A-Z_]+\]$")
_UNKNOWN_FIELD = re.compile(r"undeclared reference to 'device\.(\w+)'")
_MISSING_KEY = re.compile(r"Key not found in map : (.*)$", re.DOTALL)
_RUNTIME_STATUS = re.compile(r"^[A-Z_]+: ")

_RUNTIME = (
    (re.compile(r"No matching overloads found"), "no such overload"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"integer overflow"), "integer overflow"),
)


def compile_error(text: str) -> str:
    """The message of a refused expression, with position and the line it is in."""
    words = _STATUS.sub("", text)
    words = _UNKNOWN_FIELD.sub(r"undefined field '\1'", words)
    return f"compilation failed: {words}"


def runtime_error(text: str) -> str:
    """The message of a failed evaluation."""
    missing = _MISSING_KEY.search(text)
    if missing:
        return f"no such key: {missing[1].strip().strip(chr(34))}"
    for pattern, words in _RUNTIME:
        if pattern.search(text):
            return words
    return _RUNTIME_STATUS.sub("", text)
