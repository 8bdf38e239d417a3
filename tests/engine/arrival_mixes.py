"""Small mixes of workloads on one cluster of unlike machines, drawn from a seed, and their pods."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from tests.proof.proof_helpers import fleet, pool

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClaimTemplatePlan, ClusterPlan, WorkloadPlan
    from dra_fleet.proof.answer.verdicts import Proof

Object = dict[str, Any]

POOL = "example.com/pool"
WHOLE = "gpu.nvidia.com"
PART = "mig.nvidia.com"
ROOT = "resource.kubernetes.io/pcieRoot"
PARENT = "gpu.nvidia.com/parentUUID"
LAYOUT = {"1g.5gb": 7}
POOLS = {
    "h100": pool("hgx-h100-8", "h100"),
    "a100": pool("hgx-a100-40-4", "a100", (2, 2)),
    "mig": pool("hgx-a100-40-4", "mig", sharing={"strategy": "mig", "layout": LAYOUT}),
}
CLASSES = {"big": {"driver": "nvidia", "type": "gpu", "memory": {"min": "60Gi"}}}


def _claim(device_class: str, count: int = 1, together: str = "") -> Object:
    constraints = {"constraints": [{"matchAttribute": together}]} if together else {}
    return {"requests": {"gpu": {"class": device_class, "count": count}}, **constraints}


CLAIMS: dict[str, Object] = {
    "one": _claim(WHOLE),
    "two": _claim(WHOLE, 2),
    "four": _claim(WHOLE, 4),
    "pair": _claim(WHOLE, 2, ROOT),
    "one-big": _claim("big"),
    "three-big": _claim("big", 3),
    "too-many": _claim("big", 9),
    "either": {
        "requests": {
            "gpu": {
                "firstAvailable": [
                    {"name": "many", "class": "big", "count": 4},
                    {"name": "few", "class": WHOLE},
                ]
            }
        }
    },
    "part": _claim(PART),
    "part-trio": _claim(PART, 3, PARENT),
}
MOST_COPIES = {
    "one": 12,
    "two": 6,
    "four": 4,
    "pair": 4,
    "one-big": 8,
    "three-big": 3,
    "too-many": 2,
    "either": 4,
    "part": 12,
    "part-trio": 9,
}
NVIDIA = {"driverVersion": "580.126.9"}


def _machine(name: str, machine: str, count: int = 1, **nvidia: Any) -> Object:
    labels = {POOL: name, "nvidia.com/gpu.present": "true"}
    return {"name": name, "count": count, "machine": machine, "labels": labels, "nvidia": NVIDIA | nvidia}


HARDWARE: Object = {
    "kubernetes": "v1.36.3",
    "nodes": [
        _machine("h100", "hgx-h100-8"),
        _machine("a100", "hgx-a100-40-4", 2),
        _machine("mig", "hgx-a100-40-4", mig=LAYOUT),
    ],
}
DEVICES = 8 + 2 * 4 + 4 * 7


@dataclass(frozen=True, kw_only=True)
class Mix:
    """Some workloads, their proof, and the order in which their pods come: a workload's name per pod."""

    cluster: ClusterPlan
    proof: Proof
    arrivals: tuple[str, ...]

    def words(self, word: str) -> set[str]:
        """The workloads of which the proof says this word."""
        return {item.name for item in self.proof.workloads if item.word == word}

    def needed(self) -> dict[str, int]:
        """Return the number of pods of each workload that must be placed: its gang, or all."""
        return {item.name: item.gang or item.copies for item in self.cluster.workloads}

    def gangs(self) -> set[str]:
        """The workloads that start as a gang."""
        return {item.name for item in self.cluster.workloads if item.gang}

    def without_a_place(self) -> set[str]:
        """The workloads of which no pool takes a single copy."""
        return {item.name for item in self.proof.workloads if all(fit.at_max == 0 for fit in item.pools)}

    def objects(self, namespace: str) -> list[Object]:
        """The namespace, the templates, and the pods in their order."""
        templates = [_template(item, namespace) for item in self.cluster.templates]
        workloads = {item.name: item for item in self.cluster.workloads}
        pods = [
            _pod(workloads[name], namespace, f"{name}-{number}") for number, name in enumerate(self.arrivals)
        ]
        return [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            *templates,
            *(_group(item, namespace) for item in self.cluster.workloads if item.gang),
            *pods,
        ]


def draw(seed: int) -> Mix:
    """The mix of a seed."""
    chance = random.Random(seed)
    names = chance.sample(sorted(CLAIMS), chance.choice([1, 2, 2, 3]))
    workloads = {name: (name, chance.randint(1, MOST_COPIES[name])) for name in names}
    plan = make_plan(
        parse(
            fleet(
                POOLS,
                classes=CLASSES,
                claims={name: CLAIMS[name] for name in names},
                workloads=workloads,
            )
        )
    )
    arrivals = [name for name, (_, copies) in workloads.items() for _ in range(copies)]
    chance.shuffle(arrivals)
    return Mix(cluster=plan.clusters[0], proof=prove(plan), arrivals=tuple(arrivals))


def _group(item: WorkloadPlan, namespace: str) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": item.name, "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": item.gang}}},
    }


def _template(item: ClaimTemplatePlan, namespace: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": item.name, "namespace": namespace},
        "spec": {"spec": item.spec.to_object()},
    }


def _pod(item: WorkloadPlan, namespace: str, name: str) -> Object:
    resources = {
        "requests": {"cpu": item.cpu, "memory": item.memory},
        "limits": {"memory": item.memory},
        "claims": [{"name": "devices"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"dra-fleet/workload": item.name}},
        "spec": {
            "nodeSelector": dict(item.node_selector),
            "tolerations": [toleration.written for toleration in item.tolerations],
            **({"schedulingGroup": {"podGroupName": item.name}} if item.gang else {}),
            "resourceClaims": [{"name": "devices", "resourceClaimTemplateName": item.template}],
            "containers": [{"name": "main", "image": "example.com/pause", "resources": resources}],
        },
    }
