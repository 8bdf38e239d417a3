"""A pool requests MIG partitions only of GPUs that have them, in profiles that these GPUs have.

The cloud refuses such a pool when it is made, or, where the partitions come from a label, nothing ever makes
them and the claims wait.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.drivers.divided_devices import dividable
from dra_fleet.policy.reading.partitions import POOL_TYPES, asked, pools
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.model.hardware import Machine
    from dra_fleet.policy.rule import Settings

_PROFILE: Final = re.compile(r"(?:all-)?(?P<name>\d+g\.\d+gb)(?P<media>[.+]me)?")


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find pools that ask for partitions which their GPUs do not have."""
    del settings
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            reported = [value for value in asked(stack, pool) if value.given]
            for machine in pool.known_machines(stack) if reported else []:
                for value in reported:
                    yield from _check(pool, value, machine)


def _check(pool: NodePool, value: Value, machine: Machine) -> Iterator[Finding]:
    layouts = _layouts(machine)
    if layouts is None:
        yield from _finding(pool, value, f"{machine.name} has no GPU with partitions")
        return
    by_label = value.path[-1] in [dividing.label for dividing in dividable()]
    reported = drivers.traits(machine)
    if not layouts or reported.divisible is False or (not by_label and reported.divided_by_cloud is False):
        yield from _finding(pool, value, f"the {machine.gpu} of {machine.name} cannot be divided there")
        return
    match = _PROFILE.fullmatch(value.text or "")
    name = "" if match is None else f"{match['name']}{'+me' if match['media'] else ''}"
    if name and name not in layouts:
        yield Finding(
            pool.resource,
            value,
            f"is {value.shown}, no profile of the {machine.gpu} of {machine.name}",
            ", ".join(layouts),
            "choose one of its profiles, or another machine",
        )


def _layouts(machine: Machine) -> Mapping[str, int] | None:
    """Return the partitions of a machine's GPUs; None if no driver knows such GPUs."""
    found = (dividing.layouts(machine.gpu or "") for dividing in dividable())
    return next((layouts for layouts in found if layouts is not None), None)


def _finding(pool: NodePool, value: Value, reason: str) -> Iterator[Finding]:
    yield Finding(
        pool.resource,
        value,
        f"is {value.shown}, and {reason}",
        "partitions of GPUs that have MIG",
        f"remove {value.path[-1]}, or choose a machine whose GPU has MIG",
    )


RULE = StackRule(
    name="mig-require-capable-gpu",
    description=(
        "Pools have MIG partitions only on GPUs that support MIG, because the cloud rejects other pools, "
        "or claims wait for partitions that do not exist."
    ),
    fix="Remove the partitions, or choose a machine whose GPU supports MIG.",
    link="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html",
    severity="medium",
    check=check,
)
