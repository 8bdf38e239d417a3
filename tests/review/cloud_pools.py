"""Previews in which a pool of a cloud changes: the steps as the engine reports them, beside saved facts."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.review.assemble import Known, fleet_of, make_review
from dra_fleet.review.events import EngineStep, Preview
from dra_fleet.review.model import Review
from dra_fleet.review.running import Running, parse_running, was_planned

CLAIM = {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}
TYPES = {
    "aks": ("Aks", "azure-native:containerservice:AgentPool"),
    "gke": ("Gke", "gcp:container/nodePool:NodePool"),
    "eks": ("Eks", "aws:eks/nodeGroup:NodeGroup"),
}
"""By cloud the last part of its platform's component type, and the type of its pools."""


def with_workload(fleet: dict[str, Any], copies: int) -> dict[str, Any]:
    """A fleet of one cluster with a workload of some copies that hold a GPU each."""
    (cluster,) = fleet["clusters"]
    return fleet | {
        "claims": {"one": CLAIM},
        "workloads": {"train": {"cluster": cluster, "claim": "one", "copies": copies}},
    }


def pool_change(
    fleet: dict[str, Any],
    name: str,
    operation: str,
    diff: Mapping[str, str],
    *,
    copies: int = 2,
    others: Sequence[Mapping[str, Any]] | None = None,
) -> Review:
    """The review of one step on one pool, the workload's pods running on its first node."""
    (cluster, settings) = next(iter(fleet["clusters"].items()))
    platform, kind = TYPES[settings["cloud"]]
    stack = "urn:pulumi:dev::dra-fleet::pulumi:pulumi:Stack::dra-fleet-dev"
    parent = f"urn:pulumi:dev::dra-fleet::dra-fleet:clouds:{platform}Cluster::{cluster}"
    pool = f"urn:pulumi:dev::dra-fleet::dra-fleet:clouds:{platform}Cluster${kind}::{cluster}-{name}"
    state: dict[str, Any] = {"inputs": {}}
    common: dict[str, Any] = {"old": state, "new": state, "keys": ()}
    steps = [
        EngineStep(urn=parent, type=parent.split("::")[2], operation="same", parent=stack, diff={}, **common),
        EngineStep(urn=pool, type=kind, operation=operation, parent=parent, diff=diff, **common),
    ]
    preview = Preview(
        stack="dev", started=dt.datetime(2026, 11, 21, tzinfo=dt.UTC), result="succeeded", steps=steps
    )
    preview.packs["dra-fleet"] = "0.1.0"
    declared = with_workload(fleet, copies)
    plan = make_plan(parse(declared))
    return make_review(
        Known(
            stack="dev",
            preview=preview,
            fleet=fleet_of(declared),
            was=was_planned(plan, prove(plan), "as it was"),
            running=pods(cluster, next(iter(settings["pools"])), copies, others),
        )
    )


def pods(cluster: str, pool: str, copies: int, others: Sequence[Mapping[str, Any]] | None = None) -> Running:
    """Return the cluster's answer: so many pods on the pool's first node, each with a device, and others."""
    return parse_running(
        {
            "clusters": {
                cluster: {
                    **({} if others is None else {"others": others}),
                    "pools": {pool: {"nodes": 1, "node_names": [f"{pool}-0"]}},
                    "workloads": {
                        "train": {
                            "pods": [
                                {
                                    "name": f"train-{number}",
                                    "node": f"{pool}-0",
                                    "devices": [
                                        {
                                            "driver": "gpu.nvidia.com",
                                            "pool": f"{pool}-0",
                                            "device": f"gpu-{number}",
                                        }
                                    ],
                                }
                                for number in range(copies)
                            ]
                        }
                    },
                }
            }
        },
        "the test",
    )
