"""Semantic versions as Kubernetes' CEL library reads and orders them.

Source: https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/library/semverlib.go on
github.com/blang/semver/v4.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

_NUMBER = r"0|[1-9][0-9]*"
_TEXT = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-((?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)
_LARGEST = 2**64 - 1
_PARTS = 3


class Semver(Struct, frozen=True):
    """A version without its build metadata, which orders nothing."""

    numbers: tuple[int, int, int]
    pre_release: tuple[str, ...]

    @property
    def canonical(self) -> str:
        """The text two equal versions share."""
        core = ".".join(str(number) for number in self.numbers)
        return f"{core}-{'.'.join(self.pre_release)}" if self.pre_release else core

    @property
    def order(self) -> tuple[object, ...]:
        """A key: greater versions have greater keys."""
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre_release)
        return (*self.numbers, not self.pre_release, parts)


@lru_cache(maxsize=4096)
def parse(text: str) -> Semver:
    """Read a semantic version.

    Raises:
        ValueError: The text is not a semantic version.
    """
    match = _TEXT.fullmatch(text)
    if match is None or not text.isascii():
        raise ValueError(
            f"{text!r} is not a semantic version; allowed: major.minor.patch, without a leading v"
        )
    numbers = (int(match[1]), int(match[2]), int(match[3]))
    if max(numbers) > _LARGEST:
        raise ValueError(f"{text!r} is not a semantic version: value out of range")
    return Semver(numbers, tuple(match[4].split(".")) if match[4] else ())


def normalise(text: str) -> str:
    """Drop a leading v and leading zeros and fill up missing numbers, as ``semver(text, true)`` does.

    Raises:
        ValueError: A shortened version carries pre-release or build data.
    """
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", _PARTS - 1)]
    if len(parts) < _PARTS and ("+" in parts[-1] or "-" in parts[-1]):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (_PARTS - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isascii() and stripped[:1].isdigit() else f"0{stripped}"


def as_semver(version: str) -> str:
    """Convert a dotted version as drivers publish it: 580.126.09 -> 580.126.9, 13.0 -> 13.0.0."""
    numbers = [str(int(part)) for part in re.findall(r"\d+", version)][:3]
    return ".".join([*numbers, "0", "0"][:3])
