"""Why something is refused: the one shape in which judgements say it, wherever it is located and printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, order=True)
class Refusal:
    """Why a value is refused.

    Attributes:
        path: Where the value stands, below what was judged; empty for all of it.
        what: What is wrong, as the end of a sentence about the value.
        got: The value.
        allowed: What would be taken.
        fix: What to do about it.
    """

    path: str = ""
    what: str
    got: str = ""
    allowed: str = ""
    fix: str = ""
