"""Fleets on GKE as plain data, to be changed a little: L4, a part of an RTX PRO 6000, TPUs."""

from typing import Any

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan


def l4() -> dict[str, Any]:
    """One pool of L4, driver by this stack's installer, chart 0.5.0."""
    return {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            "render": {
                "cloud": "gke",
                "project": "ml-render",
                "location": "us-central1",
                "create": {"network": "default"},
                "access": {"external": True},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {
                    "gpu": {
                        "machine": "g2-standard-8",
                        "nodes": {"min": 1, "max": 2},
                        "zones": ["us-central1-a"],
                    }
                },
            }
        },
    }


def part() -> dict[str, Any]:
    """One pool of vGPUs, an eighth of a GPU each."""
    fleet = l4()
    pool(fleet)["machine"] = "g4-standard-6"
    return fleet


def tpu() -> dict[str, Any]:
    """One pool of Trillium, four chips per node, and a workload that takes whole nodes."""
    fleet = l4()
    cluster(fleet)["drivers"] = {"tpu": {"version": "0.1.0"}}
    pool(fleet)["machine"] = "ct6e-standard-4t"
    fleet["claims"] = {"node": {"requests": {"tpu": {"class": "tpu.google.com", "allocationMode": "All"}}}}
    fleet["workloads"] = {"train": {"cluster": "render", "claim": "node", "copies": 1}}
    return fleet


def cluster(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["render"]


def pool(fleet: dict[str, Any]) -> dict[str, Any]:
    return cluster(fleet)["pools"]["gpu"]


def values(fleet: dict[str, Any], values: dict[str, Any], driver: str = "nvidia") -> None:
    cluster(fleet)["drivers"][driver]["values"] = values


def warnings(fleet: dict[str, Any]) -> tuple[str, ...]:
    return make_plan(parse(fleet)).warnings
