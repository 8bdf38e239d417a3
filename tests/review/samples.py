"""Reviews to render, made by the same code that users run from saved events of two stacks.

The lab's stack stays as it is, so tests look into it; the dev stack changes, and is only rendered.
"""

import datetime as dt
import json
from functools import cache
from pathlib import Path
from typing import Any

from dra_fleet.review.assemble import Known, fleet_of, make_review, previewed_fleet
from dra_fleet.review.events import Preview, read_events
from dra_fleet.review.model import Review
from dra_fleet.review.running import Running, Was, read_running, was_exported, was_planned

DATA = Path(__file__).parent / "data"
POOLS = 500
CLUSTERS = 10
CLAIMS = 5000
TEMPLATES = 50
MODELS = ("T4", "A100-SXM4-40GB", "A100-PCIE-40GB", "A100-SXM4-80GB", "A100-PCIE-80GB", "H100-SXM5-80GB")


def preview(name: str) -> Preview:
    """Saved events: `first` (nothing was before), `same`, `destructive`, `refused`, `wrong`."""
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return read_events(lines, name)


def running(name: str = "running") -> Running:
    """The devices in use in the lab when its events were saved."""
    return read_running(DATA / f"{name}.json")


def as_it_was(name: str = "same") -> Was:
    """The lab as its own events have it."""
    fleet = fleet_of(previewed_fleet(preview(name)) or {})
    assert fleet.plan is not None
    assert fleet.proof is not None
    return was_planned(fleet.plan, fleet.proof, "Pulumi.lab.yaml at main")


def review_of(
    name: str, *, stack: str = "lab", was: Was | None = None, runs: Running | None = None
) -> Review:
    """The review of saved events."""
    seen = preview(name)
    return make_review(
        Known(
            stack=stack,
            preview=seen,
            fleet=fleet_of(previewed_fleet(seen) or {}),
            was=was or was_exported(seen.outputs),
            running=runs,
            plan_command=f"pulumi up --stack {stack} --plan build/review/{stack}/plan.json",
        )
    )


@cache
def first() -> Review:
    """The lab before anything was deployed: everything is created; one possible order on the map."""
    return review_of("first")


@cache
def lab() -> Review:
    """The lab without a change, its clusters asked: approved."""
    return review_of("same", was=as_it_was(), runs=running())


@cache
def dev_first() -> Review:
    """The dev stack before anything was deployed."""
    return review_of("dev_first", stack="dev")


@cache
def dev() -> Review:
    """The dev stack without a change, its clusters asked."""
    return review_of("dev_same", stack="dev", was=as_it_was("dev_same"), runs=running("dev_running"))


@cache
def destructive() -> Review:
    """Workloads, a template and a class go or change: a person is needed, and the pods are named."""
    return review_of("destructive", was=as_it_was(), runs=running())


@cache
def refused() -> Review:
    """Claims that find no devices: refused, with the matrix that says why."""
    return review_of("refused", was=as_it_was())


@cache
def wrong() -> Review:
    """A stack file that is wrong: refused; there is no fleet to show."""
    return review_of("wrong")


def large_settings() -> dict[str, Any]:
    """500 pools in 10 clusters, and 50 workloads of 100 copies."""
    names = [f"cluster-{number}" for number in range(CLUSTERS)]
    copies = CLAIMS // TEMPLATES
    return {
        "owner": "ml-platform",
        "environment": "staging",
        "kubernetes": "1.36",
        "clusters": {name: _large_cluster(name) for name in names},
        "classes": {"gpu": {"driver": "nvidia", "type": "gpu"}},
        "claims": {f"template-{number}": _claim(number) for number in range(TEMPLATES)},
        "workloads": {
            f"workload-{number}": {
                "cluster": names[number % CLUSTERS],
                "claim": f"template-{number}",
                "copies": copies,
            }
            for number in range(TEMPLATES)
        },
    }


def _large_cluster(name: str) -> dict[str, Any]:
    pools = {
        f"pool-{number}": {
            "machine": {"gpu": MODELS[number % len(MODELS)], "gpus": 8, "cpus": 256, "memory": 2048},
            "nodes": {"min": 1 + number % 3, "max": 4},
            "nodeSelector": {"example.com/pool": f"pool-{number}"},
            **({"sharing": {"strategy": "mig", "layout": {"1g.5gb": 7}}} if number % 12 == 1 else {}),
        }
        for number in range(POOLS // CLUSTERS)
    }
    return {
        "cloud": "existing",
        "kubeconfig": {"context": name},
        "drivers": {"nvidia": {"version": "0.5.0"}},
        "pools": pools,
    }


def _claim(number: int) -> dict[str, Any]:
    least = (10, 20, 39, 60, 4)[number % 5]
    expression = f"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{least}Gi')) >= 0"
    return {"requests": {"gpu": {"class": "gpu", "count": 1, "selectors": [expression]}}}


@cache
def large() -> Review:
    """500 pools and 5,000 claims."""
    settings = large_settings()
    seen = Preview(stack="large", started=dt.datetime(2026, 11, 21, tzinfo=dt.UTC), result="succeeded")
    seen.config["dra-fleet:fleet"] = json.dumps(settings)
    seen.operations["same"] = 1
    seen.packs["dra-fleet"] = "0.1.0"
    return make_review(Known(stack="large", preview=seen, fleet=fleet_of(settings), was=Was(), running=None))


SAMPLES = {
    "first": first,
    "lab": lab,
    "dev_first": dev_first,
    "dev": dev,
    "destructive": destructive,
    "refused": refused,
    "wrong": wrong,
    "large": large,
}
"""By name; each makes its review."""
