"""Fleets on AKS as plain data, to be changed a little: vGPUs with AKS's driver, MIG with the operator's."""

from typing import Any

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan

VGPU = "Standard_NV6ads_A10_v5"
MIG = "Standard_ND96amsr_A100_v4"


def vgpu() -> dict[str, Any]:
    """One pool of vGPUs, driver by AKS, chart 0.5.0."""
    return {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            "studio": {
                "cloud": "aks",
                "region": "eastus",
                "subscription": "00000000-0000-0000-0000-000000000000",
                "create": {"resourceGroup": "rg"},
                "access": {"private": True},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {"gpu": {"machine": VGPU, "nodes": {"min": 1, "max": 2}}},
            }
        },
    }


def mig() -> dict[str, Any]:
    """One pool cut into 1g.10gb, driver by the GPU Operator, chart 25.8.1."""
    fleet = vgpu()
    cluster = fleet["clusters"]["studio"]
    cluster["drivers"]["nvidia"]["version"] = "25.8.1"
    cluster["gpuOperator"] = {"version": "v25.10.0"}
    cluster["pools"]["gpu"] |= {
        "machine": MIG,
        "gpuDriver": "operator",
        "taints": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}],
        "sharing": {"strategy": "mig", "layout": {"1g.10gb": 7}},
    }
    return fleet


def cluster(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["studio"]


def pool(fleet: dict[str, Any]) -> dict[str, Any]:
    return cluster(fleet)["pools"]["gpu"]


def values(fleet: dict[str, Any], values: dict[str, Any]) -> None:
    cluster(fleet)["drivers"]["nvidia"]["values"] = values


def warnings(fleet: dict[str, Any]) -> tuple[str, ...]:
    return make_plan(parse(fleet)).warnings
