"""Sets of CPUs as Linux writes them: 0-3,5.

Source: https://github.com/kubernetes/utils, cpuset.Parse.
"""

import re
from typing import Final

CPU_SET_WORDS: Final = "a set of CPUs, such as 0-3,5"
_RANGE: Final = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def is_cpu_set(text: str) -> bool:
    """Whether a text names at least one CPU, and no range is written backwards."""
    ranges = [_RANGE.fullmatch(part) for part in text.split(",")]
    return all(one is not None and int(one[1]) <= int(one[2] or one[1]) for one in ranges)
