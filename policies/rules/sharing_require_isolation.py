"""What shares a GPU between pods isolates their memory and faults.

Time-slicing and MPS do neither: a pod that allocates too much ends its neighbours, and an error in one
context ends all of them. They suit experiments, and are a choice to be made by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.claims import SELECTING_TYPES
from dra_fleet.policy.reading.partitions import shared
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

NAME: Final = "sharing-require-isolation"
ACCEPTED: Final = Parameter(
    name="accepted",
    schema=TEXTS,
    default=(),
    description="The Pulumi names of classes, claims and templates that may share without isolation.",
)


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find configurations that choose a strategy without isolation."""
    if resource.name in settings.texts(ACCEPTED.name):
        return
    for facts, strategy in shared(resource):
        if strategy.text in facts.sharing_gates:
            yield Finding(
                resource,
                strategy,
                f"is {strategy.shown}, which isolates neither memory nor faults",
                "whole devices, or MIG partitions",
                f"select a MIG device, or list {resource.name} in {ACCEPTED.name} of {NAME}",
            )


RULE = ResourceRule(
    name=NAME,
    description=(
        "Devices are shared in ways that isolate memory and faults, "
        "because under time-slicing and MPS one pod can end its neighbours."
    ),
    fix="Use MIG partitions or whole devices.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    severity="medium",
    standard="advisory",
    production="mandatory",
    types=SELECTING_TYPES,
    parameters=(ACCEPTED,),
    judge=judge,
)
