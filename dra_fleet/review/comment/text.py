"""Plain text in Markdown: nothing in it becomes markup, a mention or a new row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]|~])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;"}


def inline(text: str) -> str:
    """A text on one line, with everything escaped that Markdown or GitHub would read as its own."""
    flat = " ".join(text.split())
    escaped = _SPECIAL.sub(r"\\\1", "".join(_HTML.get(sign, sign) for sign in flat))
    # A bare address would become a link, and a word with underscores needs no escape inside code.
    return escaped.replace("://", "&#58;//")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], most: int, noun: str) -> str:
    """A table of at most so many rows; what is left out is counted below it."""
    found = list(rows)
    if not found:
        return ""
    lines = [f"| {' | '.join(headings)} |", f"|{'|'.join('---' for _ in headings)}|"]
    lines += [f"| {' | '.join(inline(cell) for cell in row)} |" for row in found[:most]]
    left = len(found) - most
    return "\n".join(lines) + (f"\n\nand {left} more {noun}" if left > 0 else "")


def bullets(texts: Iterable[str], most: int, noun: str) -> str:
    """A list of at most so many lines; what is left out is counted."""
    found = list(texts)
    left = len(found) - most
    lines = [f"- {inline(text)}" for text in found[:most]]
    return "\n".join([*lines, *([f"- and {left} more {noun}"] if left > 0 else [])])
