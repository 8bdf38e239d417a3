"""What was found, which versions run, how clusters are reached, and what was not looked at."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from dra_fleet.review.model.base import ReviewModel, Severity


class Finding(ReviewModel):
    """Something found wrong.

    `level` is the gate's own: `mandatory` stops, `advisory` does not. `source`: who found it. `rule` is a
    policy's name, or `proof`, `settings`, `engine`. `resource` is a URN, empty where there is none.
    `exempted`: until when and why it is let be; empty where it is not.
    """

    severity: Severity
    level: Literal["mandatory", "advisory"]
    source: Literal["policy", "proof", "settings", "engine"]
    rule: str
    pack: str
    subject: str
    resource: str
    message: str
    fix: str
    url: str
    exempted: str = ""

    @property
    def told(self) -> str:
        """The message without the subject, where it begins with it."""
        return self.message.removeprefix(f"{self.subject}: ")


class Version(ReviewModel):
    """A version that is run, and until when `by` supports it; None where nothing public says it."""

    cluster: str
    component: str
    version: str
    before: str
    supported_until: dt.date | None
    by: str
    status: Literal["supported", "ending", "ended", "unknown"]
    note: str
    source: str


class Exposure(ReviewModel):
    """One fact about how a cluster is reached and by whom. `level`: `fine`, `note` or `warning`."""

    cluster: str
    subject: str
    text: str
    level: Literal["fine", "note", "warning"]


class Unchecked(ReviewModel):
    """What this review did not look at, why, and how one can."""

    what: str
    why: str
    how: str


class Engine(ReviewModel):
    """The preview itself: its result, its steps by operation, what it said, which rules judged."""

    result: str
    seconds: float
    operations: dict[str, int]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    packs: dict[str, str]
    rules_passed: tuple[str, ...]
    rules_failed: tuple[str, ...]


class Totals(ReviewModel):
    """How large the fleet is. `claims`: copies of all workloads."""

    clusters: int
    pools: int
    nodes_min: int
    nodes_max: int
    devices_min: int
    devices_max: int
    workloads: int
    claims: int
    changed_resources: int
