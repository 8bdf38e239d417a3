"""Where the time of a `rehearse up` goes: its parts one after the other, and what each took."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from dra_fleet.rehearsal.reporting import Reporter, Step

REST = "the rest"


class TimingJson(TypedDict):
    """One part of a run, its seconds and its share of all."""

    part: str
    seconds: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One part of a run.

    Attributes:
        part: its name.
        seconds: what it took.
        share: of the whole run, 0 to 1.
    """

    part: str
    seconds: float
    share: float

    def as_json(self) -> TimingJson:
        """The documented shape in `rehearse up --timings --json`."""
        return {"part": self.part, "seconds": round(self.seconds, 3), "share": round(self.share, 4)}


class Timed:
    """A reporter that remembers what each step took.

    Args:
        told: is told of everything.
    """

    def __init__(self, told: Reporter) -> None:
        self.told = told
        self._began = time.monotonic()
        self._parts: dict[str, float] = {}

    def say(self, line: str) -> None:
        """Tell a result that stands while the work goes on."""
        self.told.say(line)

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        """A part that is told of as a step."""
        with self.part(title), self.told.step(title) as step:
            yield step

    @contextmanager
    def part(self, title: str) -> Generator[None]:
        """A part that nobody is told of; parts follow each other."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._parts[title] = self._parts.get(title, 0.0) + time.monotonic() - began

    def split(self, title: str, parts: Mapping[str, float]) -> None:
        """Replace a part that is over by the parts it consisted of; what they do not tell stays its own."""
        rest = self._parts.pop(title) - sum(parts.values())
        self._parts |= {f"{title}: {name}": seconds for name, seconds in parts.items()}
        self._parts[f"{title}: else"] = max(rest, 0.0)

    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._began

    def timings(self) -> tuple[Timing, ...]:
        """What each part took, in the order in which they began, and last what no part covers."""
        whole = self.seconds()
        parts = {**self._parts, REST: max(whole - sum(self._parts.values()), 0.0)}
        return tuple(
            Timing(part=part, seconds=seconds, share=seconds / whole) for part, seconds in parts.items()
        )
