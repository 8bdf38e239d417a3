"""The plan of a stack of one cluster, and files given as text."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from dra_fleet import check as checking
from dra_fleet.check import FileFinding, ManifestFile, ValuesFile
from dra_fleet.fleet import parse, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import FleetPlan

ROOT = Path(__file__).parents[2]
LAB = ROOT / "tests" / "data" / "stacks" / "lab.yaml"
RECIPES = ROOT / "tests" / "data" / "recipes"


def check(
    plan: FleetPlan, manifests: Iterable[ManifestFile], values: Iterable[ValuesFile] = ()
) -> list[FileFinding]:
    return list(checking.check(plan, manifests, values).findings)


@cache
def plan_of(path: Path = LAB) -> FleetPlan:
    return make_plan(read_stack_file(path).settings)


def findings(text: str | bytes, stack: Path = LAB) -> list[str]:
    """Return the findings in a file called f.yaml."""
    data = text.encode() if isinstance(text, str) else text
    found = check(plan_of(stack), [ManifestFile(name="f.yaml", data=data)])
    return [str(finding).removeprefix("f.yaml:") for finding in found]


def value_findings(text: str, stack: Path = LAB, chart: str = "dra-driver-nvidia-gpu@0.5.0") -> list[str]:
    """Return the findings in a values file called v.yaml."""
    name, version = chart.split("@")
    values = ValuesFile(chart=name, version=version, name="v.yaml", data=text.encode())
    return [str(finding).removeprefix("v.yaml:") for finding in check(plan_of(stack), [], [values])]


def cluster(machine: str, kubernetes: str = "1.36", drivers: Any = None, **pool: Any) -> dict[str, Any]:
    """A cluster with one pool of two nodes and, unless `drivers` says otherwise, the newest NVIDIA driver."""
    return {
        "cloud": "existing",
        "kubernetes": kubernetes,
        "kubeconfig": {"context": f"{machine}-{kubernetes}"},
        "drivers": nvidia() if drivers is None else drivers,
        "pools": {
            "gpus": {
                "machine": machine,
                "nodes": {"min": 1, "max": 2},
                "nodeSelector": {"example.com/pool": "gpus"},
                **pool,
            }
        },
    }


def nvidia(**values: Any) -> dict[str, Any]:
    """The newest NVIDIA driver with custom chart values."""
    return {"nvidia": {"version": "0.5.0", "values": values}}


def plan_on(**clusters: dict[str, Any]) -> FleetPlan:
    """The plan of a stack with these clusters and nothing else."""
    return make_plan(
        parse({"owner": "o", "environment": "development", "kubernetes": "1.36", "clusters": clusters})
    )


def on(text: str, **clusters: dict[str, Any]) -> list[str]:
    """Return the findings in a file on clusters."""
    return [str(item) for item in check(plan_on(**clusters), [ManifestFile(name="f", data=text.encode())])]
