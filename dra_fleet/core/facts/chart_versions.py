"""Versions of charts, as Helm takes them."""

import re
from typing import Final

EXAMPLE: Final = "three numbers, such as 0.6.0"
_VERSION: Final = re.compile(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")


def is_chart_version(text: str) -> bool:
    """Whether it is one whole version, with or without a v.

    https://helm.sh/docs/topics/charts/#charts-and-versioning
    """
    return _VERSION.fullmatch(text) is not None
