"""Kubernetes minors and feature gates."""

import datetime as dt
from collections.abc import Mapping
from functools import cache
from typing import Literal

from dra_fleet.core.facts import Entry, by_name, read

Stage = Literal["absent", "alpha", "beta-off", "beta", "stable"]
_ON: frozenset[str] = frozenset({"beta", "stable"})
PARTITIONS = "DRAPartitionableDevices"
"""The gate of counters that devices share."""
SHARES = "DRAConsumableCapacity"
"""The gate of devices that several claims hold a part of."""


class KubernetesMinor(Entry):
    """A minor: its upstream end of life and the first patch without known scheduler bugs for devices."""

    minor: str
    end_of_life: dt.date
    patch_floor: str | None
    patch_reason: str | None


class PlannedMinor(Entry):
    """A minor before its release: the day it is planned for, and the planned stages of gates that change."""

    minor: str
    release: dt.date
    gates: Mapping[str, Stage]


class Change(Entry):
    """Something that breaks (`error`) or changes (`note`) for a stack when a cluster moves to a minor.

    `removes`: the API version that the API server no longer serves.
    """

    name: str
    minor: str
    removes: str = ""
    level: Literal["error", "note"]
    what: str
    fix: str


class GangScheduling(Entry):
    """Placement of gangs by a minor's own scheduler.

    `api`: serves Workload and, from 1.36, PodGroup. `gates`: must be on in all components.
    `one_by_one`: members that are placed keep their devices while others wait, until a timeout.
    `shared_word`: the verdict on a gang whose pods share one claim, which `shared_reason` explains; empty if
    sharing has no known defect.
    """

    minor: str
    api: str
    gates: tuple[str, ...]
    one_by_one: bool = False
    shared_word: Literal["", "never", "unknown"] = ""
    shared_reason: str = ""


class FeatureGate(Entry):
    """A feature gate and its stage per minor."""

    name: str
    stages: Mapping[str, Stage]

    def is_on(self, minor: str) -> bool:
        """Return whether the gate is on by default in a minor, by plan in one before its release."""
        stage = self.stages.get(minor)
        if stage is None:
            facts = kubernetes_facts()
            stage = facts.announced(minor).gates.get(self.name) or self.stages[facts.newest]
        return stage in _ON

    @property
    def on_from(self) -> str | None:
        """The first known minor that has it on by default."""
        return next((minor for minor, stage in self.stages.items() if stage in _ON), None)


class KubernetesFacts(Entry):
    """All of minors.yaml, oldest minor first."""

    oldest: str
    oldest_reason: str
    example: str
    minors: tuple[KubernetesMinor, ...]
    planned: tuple[PlannedMinor, ...]
    changes: tuple[Change, ...]
    gangs: tuple[GangScheduling, ...]
    gates: tuple[FeatureGate, ...]

    @property
    def newest(self) -> str:
        """The newest minor that is known."""
        return self.minors[-1].minor

    def minor(self, minor: str) -> KubernetesMinor | None:
        """Return the entry of a minor, if it is known."""
        return next((entry for entry in self.minors if entry.minor == minor), None)

    def announced(self, minor: str) -> PlannedMinor:
        """Return a minor before its release.

        Raises:
            KeyError: No such minor is announced.
        """
        return {entry.minor: entry for entry in self.planned}[minor]

    def dated(self, minor: str) -> str:
        """Return a minor, with the day of its release if that is planned: `1.38 (planned for 2026-12-16)`."""
        day = next((entry.release for entry in self.planned if entry.minor == minor), None)
        return minor if day is None else f"{minor} (planned for {day})"

    def gang(self, minor: str) -> GangScheduling | None:
        """Return gang scheduling of a minor, of the newest known one for a later minor; None before 1.35."""
        known = [entry for entry in self.gangs if minor_order(entry.minor) <= minor_order(minor)]
        return known[-1] if known else None

    def gate(self, name: str) -> FeatureGate:
        """Return the entry of a gate.

        Raises:
            KeyError: No such gate is known.
        """
        return by_name(self.gates)[name]


def minor_order(minor: str) -> int:
    """Return the number of a minor such as 1.36, by which minors are compared."""
    return int(minor.partition(".")[2])


@cache
def kubernetes_facts() -> KubernetesFacts:
    """Load the facts of Kubernetes' minors once."""
    return KubernetesFacts.model_validate(read("dra_fleet.kubernetes", "minors.yaml"))


def is_on(gate: str, minor: str) -> bool:
    """Return True if a feature gate is on by default in a minor."""
    return kubernetes_facts().gate(gate).is_on(minor)


def on_from(gate: str) -> str:
    """Return the first minor that has a feature gate on by default, or a text if there is none."""
    return kubernetes_facts().gate(gate).on_from or "(no known minor)"
