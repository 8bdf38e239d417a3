"""Allocate a pod's claims on one node exactly as the scheduler does; pure, without a cluster.

A port of the allocator of https://github.com/kubernetes/dynamic-resource-allocation (structured/internal), as
each version has it; tests compare both. It decides one pod on one node; which node, in which
order of pods, is not its business.
"""

from dra_fleet.proof.allocator.allocate import allocate, allocate_alike, outcomes
from dra_fleet.proof.allocator.inventory import (
    Allocated,
    Allocation,
    Amount,
    CandidateNode,
    DeviceId,
    Failure,
    InUse,
    Inventory,
    NoFit,
    Outcome,
    TimedOut,
    Undecided,
)
from dra_fleet.proof.allocator.search import Steps

__all__ = [
    "Allocated",
    "Allocation",
    "Amount",
    "CandidateNode",
    "DeviceId",
    "Failure",
    "InUse",
    "Inventory",
    "NoFit",
    "Outcome",
    "Steps",
    "TimedOut",
    "Undecided",
    "allocate",
    "allocate_alike",
    "outcomes",
]
