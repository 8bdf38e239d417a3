"""Translation of a class to a CEL expression that is false, never an error, on every other device.

A missing attribute is a run-time error in CEL and aborts the pod's scheduling on all nodes. So the driver is
checked first, and what a device may lack is looked up with `in`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dra_fleet.core.findings.errors import Refusal, choices, mistyped
from dra_fleet.drivers.common.facts import PublishedAttribute, PublishedCapacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Driver
    from dra_fleet.model.classes import AmountRange, IntentClass, VersionRange

_P = TypeVar("_P", PublishedAttribute, PublishedCapacity)


def selector(intent: IntentClass, driver: Driver) -> tuple[str, list[Refusal]]:
    """Return the CEL expression of a class, and the conditions that CEL cannot express.

    Args:
        intent: the class as the stack file has it.
        driver: its driver.
    """
    builder = _Builder(intent, driver)
    builder.type()
    builder.text("product", intent.product)
    builder.text("architecture", intent.architecture)
    builder.text("profile", intent.profile)
    builder.version("computeCapability", intent.compute_capability)
    builder.amount("memory", intent.memory)
    builder.amount("multiprocessors", intent.multiprocessors)
    return " && ".join(builder.clauses), builder.problems


class _Builder:
    def __init__(self, intent: IntentClass, driver: Driver) -> None:
        self.intent = intent
        self.driver = driver
        self.facts = driver.facts
        self.domain = quoted(self.facts.driver)
        self.clauses = [f"device.driver == {self.domain}"]
        self.problems: list[Refusal] = []
        known = intent.type in self.facts.device_types
        self.types = (intent.type,) if known else self.facts.device_types

    def type(self) -> None:
        requested, types = self.intent.type, self.facts.device_types
        if requested is None:
            return
        if requested not in types:
            self.problems.append(
                Refusal(
                    path="type",
                    what=f"is not a device type of driver {self.driver.name}",
                    got=requested,
                    allowed=choices(requested, types),
                    fix=mistyped(requested, types),
                )
            )
        elif any(item.name == "type" and requested in item.always for item in self.facts.attributes):
            self.clauses.append(f"device.attributes[{self.domain}].type == {quoted(requested)}")

    def text(self, key: str, value: str | None) -> None:
        published = self._find(key, self.facts.attributes, requested=value is not None)
        if published is not None and value is not None:
            self._guard(published, "attributes")
            self.clauses.append(f"device.attributes[{self.domain}].{published.name} == {quoted(value)}")

    def version(self, key: str, limits: VersionRange | None) -> None:
        published = self._find(key, self.facts.attributes, requested=limits is not None)
        if published is not None and limits is not None:
            self._guard(published, "attributes")
            bounds = ((limits.min, ">="), (limits.max, "<="))
            where = f"device.attributes[{self.domain}].{published.name}"
            self.clauses += [
                f"{where}.compareTo(semver({quoted(_three_numbers(limit))})) {sign} 0"
                for limit, sign in bounds
                if limit
            ]

    def amount(self, key: str, limits: AmountRange | None) -> None:
        published = self._find(key, self.facts.capacities, requested=limits is not None)
        if published is not None and limits is not None:
            self._guard(published, "capacity")
            bounds = ((limits.min, ">="), (limits.max, "<="))
            where = f"device.capacity[{self.domain}].{published.name}"
            self.clauses += [
                f"{where}.compareTo(quantity({quoted(limit)})) {sign} 0" for limit, sign in bounds if limit
            ]

    def _find(self, key: str, all_published: Sequence[_P], *, requested: bool) -> _P | None:
        if not requested:
            return None
        name = self.driver.intents.get(key)
        if name is None:
            what = f"cannot be asked of driver {self.driver.name}, which publishes no such thing"
            self.problems.append(Refusal(path=key, what=what, allowed=", ".join(self.driver.intents)))
            return None
        published = next(item for item in all_published if item.name == name)
        carriers = {*published.always, *published.sometimes}
        if not carriers & set(self.types):
            self.problems.append(
                Refusal(
                    path=key,
                    what=f"is never published for devices of type {self.intent.type}",
                    allowed=f"type: {' or '.join(sorted(carriers))}",
                    fix=f"remove {key}, or change type",
                )
            )
            return None
        return published

    def _guard(self, published: PublishedAttribute | PublishedCapacity, where: str) -> None:
        if not set(self.types) <= set(published.always):
            self.clauses.append(f"{quoted(published.name)} in device.{where}[{self.domain}]")


def quoted(text: str) -> str:
    """Return a CEL string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _three_numbers(version: str) -> str:
    numbers = [str(int(part)) for part in version.split(".")]
    return ".".join([*numbers, "0"][:3])
