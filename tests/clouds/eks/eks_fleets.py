"""Fleets on EKS as plain data, to be changed a little: H100 cut into partitions, and an UltraServer."""

from __future__ import annotations

from typing import Any

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan

RESERVATION = "cr-0123456789abcdef0"


def h100() -> dict[str, Any]:
    """One pool of whole H100, chart 0.5.0."""
    return {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.35",
        "clusters": {
            "train": {
                "cloud": "eks",
                "region": "us-east-1",
                "account": "000000000000",
                "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
                "access": {"private": True},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {"gpu": {"machine": "p5.48xlarge", "nodes": {"min": 1, "max": 2}}},
            }
        },
    }


def mig() -> dict[str, Any]:
    """One pool of H100 cut into 1g.10gb by the GPU Operator's MIG manager."""
    fleet = h100()
    cluster(fleet)["gpuOperator"] = {"version": "v26.7.0"}
    pool(fleet)["sharing"] = {"strategy": "mig", "layout": {"1g.10gb": 7}}
    return fleet


def ultra() -> dict[str, Any]:
    """One pool of a P6e-GB200 UltraServer with EFA, from a Capacity Block."""
    fleet = h100()
    pool(fleet).update(
        machine="p6e-gb200.36xlarge",
        capacity="CAPACITY_BLOCK",
        reservation=RESERVATION,
        zones=["us-east-1a"],
        efa=True,
        release="1.35.2-20260415",
    )
    return fleet


def cluster(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["train"]


def pool(fleet: dict[str, Any]) -> dict[str, Any]:
    return cluster(fleet)["pools"]["gpu"]


def values(fleet: dict[str, Any], values: dict[str, Any]) -> None:
    cluster(fleet)["drivers"]["nvidia"]["values"] = values


def warnings(fleet: dict[str, Any]) -> tuple[str, ...]:
    return make_plan(parse(fleet)).warnings
