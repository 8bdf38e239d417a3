"""Small stacks to prove."""

from typing import Any

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import FleetPlan, make_plan
from dra_fleet.proof.answer.verdicts import Proof
from dra_fleet.proof.prove import prove


def pool(machine: Any, name: str, nodes: tuple[int, int] = (1, 1), **more: Any) -> dict[str, Any]:
    least, most = nodes
    return {
        "machine": machine,
        "nodes": {"min": least, "max": most},
        "nodeSelector": {"example.com/pool": name},
        **more,
    }


def fleet(
    pools: dict[str, Any],
    *,
    classes: dict[str, Any] | None = None,
    claims: dict[str, Any] | None = None,
    workloads: dict[str, Any] | None = None,
    drivers: dict[str, Any] | None = None,
    environment: str = "development",
) -> dict[str, Any]:
    """A stack with one cluster `lab`; workloads are (claim, copies) or mappings."""
    return {
        "owner": "ml-platform",
        "environment": environment,
        "kubernetes": "1.36",
        "clusters": {
            "lab": {
                "cloud": "existing",
                "kubeconfig": {"context": "lab"},
                "drivers": {"nvidia": {"version": "0.5.0"}} if drivers is None else drivers,
                "pools": pools,
            }
        },
        "classes": classes or {},
        "claims": claims or {},
        "workloads": {
            name: {
                "cluster": "lab",
                **(item if isinstance(item, dict) else dict(zip(("claim", "copies"), item, strict=True))),
            }
            for name, item in (workloads or {}).items()
        },
    }


def plan_of(settings: dict[str, Any]) -> FleetPlan:
    return make_plan(parse(settings))


def proved(settings: dict[str, Any]) -> Proof:
    return prove(plan_of(settings))


def gpus(count: int) -> dict[str, Any]:
    """A machine whose GPUs sit no one knows where."""
    return {"gpu": "A100-SXM4-40GB", "gpus": count, "cpus": 64, "memory": 512}
