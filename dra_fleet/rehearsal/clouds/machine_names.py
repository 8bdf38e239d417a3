"""How names of machine types are read, and which known ones are like a wrong one."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_CPUS: Final = {"medium": 1, "large": 2, "xlarge": 4}


def near(name: str, known: Iterable[str]) -> str:
    """The known names most like this one, in a row."""
    return ", ".join(difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.3)) or "none"


def cpus_of(size: str) -> int | None:
    """The processors of a size such as "large" or "2xlarge"; None where it is no size."""
    many = re.fullmatch(r"(\d+)xlarge", size)
    return 4 * int(many[1]) if many else _CPUS.get(size)
