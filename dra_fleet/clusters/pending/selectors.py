"""Results of a request's selectors on devices, clause by clause, as the scheduler evaluates them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import CelDevice, asked, clauses, environment, judgeable_clauses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.clusters.client import Object


@dataclass(frozen=True, kw_only=True)
class LocatedDevice:
    """A published device and where it is."""

    driver: str
    pool: str
    node: str | None
    name: str
    body: Object

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the device in allocation results."""
        return (self.driver, self.pool, self.name)

    def __str__(self) -> str:
        return f"{self.pool}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class FalseClause:
    """The first clause that does not hold on a device, and how many hold."""

    device: LocatedDevice
    clause: str
    outcome: str
    message: str
    true_before: int


def devices_in(slices: Iterable[Object]) -> list[LocatedDevice]:
    """All devices of the newest generation of each pool."""
    slices = list(slices)
    newest: dict[tuple[str, str], int] = {}
    for item in slices:
        pool = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        newest[pool] = max(newest.get(pool, 0), item["spec"]["pool"].get("generation", 0))
    return [
        LocatedDevice(
            driver=item["spec"]["driver"],
            pool=item["spec"]["pool"]["name"],
            node=item["spec"].get("nodeName"),
            name=device["name"],
            body=device,
        )
        for item in slices
        for device in item["spec"].get("devices", [])
        if item["spec"]["pool"].get("generation", 0)
        == newest[item["spec"]["driver"], item["spec"]["pool"]["name"]]
    ]


def expressions(selectors: Iterable[Object]) -> list[str]:
    """Return the CEL expressions of selectors."""
    return [item["cel"]["expression"] for item in selectors if "cel" in item]


def drivers_named(selectors: Iterable[str]) -> set[str]:
    """Return the drivers that expressions name by `device.driver == '…'`."""
    return {name for text in selectors for name in asked(text).drivers}


def first_miss(selectors: Sequence[str], device: LocatedDevice, minor: str) -> FalseClause | None:
    """Return the first clause that is not true on a device; None if it matches.

    Raises:
        CelUnsupported: an expression cannot be checked here.
    """
    cel = environment(minor)
    subject = CelDevice.of(device.body, device.driver)
    true_before = 0
    for expression in selectors:
        whole = cel.compile(expression).evaluate(subject)
        if whole:
            true_before += len(clauses(expression))
            continue
        for clause in judgeable_clauses(expression, minor):
            verdict = cel.compile(clause).evaluate(subject)
            if verdict.outcome == whole.outcome:
                return FalseClause(
                    device=device,
                    clause=clause,
                    outcome=whole.outcome,
                    message=verdict.message,
                    true_before=true_before,
                )
            true_before += 1
        return FalseClause(
            device=device,
            clause=expression,
            outcome=whole.outcome,
            message=whole.message,
            true_before=true_before,
        )
    return None


def value_named_in(clause: str, device: LocatedDevice) -> str:
    """Describe the device's value of the attribute or capacity that a clause reads; may be empty."""
    values = {**device.body.get("attributes", {}), **device.body.get("capacity", {})}
    for key, value in values.items():
        name = key.rpartition("/")[2]
        if asked(clause).reads(name):
            return f"{name} is {next(iter(value.values()))}"
    return ""
