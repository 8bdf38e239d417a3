"""Constraints on PCIe roots are decided on machines with a public recording, and unknown on others."""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove

ROOT = [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]


def verdict(machine: str, requests: dict[str, Any]) -> str:
    """The proof's word about one claim on one EKS node."""
    settings: dict[str, Any] = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.35",
        "clusters": {
            "train": {
                "cloud": "eks",
                "account": "000000000000",
                "region": "us-east-1",
                "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
                "access": {"publicRanges": ["203.0.113.0/24"]},
                "drivers": {"nvidia": {"version": "0.5.0"}, "dranet": {"version": "1.0.0"}},
                "pools": {"gpus": {"machine": machine, "nodes": {"min": 1, "max": 1}, "efa": True}},
            }
        },
        "claims": {"near": {"requests": requests, "constraints": ROOT}},
        "workloads": {"train": {"cluster": "train", "claim": "near", "copies": 1}},
    }
    [claim] = prove(make_plan(parse(settings))).claims
    return claim.word


def gpus(count: int, **more: Any) -> dict[str, Any]:
    return {"gpus": {"class": "gpu.nvidia.com", "count": count}, **more}


CARD = {"card": {"class": "efa.networking.k8s.aws"}}


@pytest.mark.parametrize(
    ("requests", "word"),
    [
        (gpus(2), "guaranteed"),
        (gpus(2, **CARD), "guaranteed"),
        (gpus(3), "never"),
        (gpus(1, card={"class": "efa.networking.k8s.aws", "count": 2}), "never"),
    ],
)
def test_gpus_and_cards_on_one_root_of_a_p4d_are_decided(requests: dict[str, Any], word: str) -> None:
    assert verdict("p4d.24xlarge", requests) == word


def test_all_gpus_of_a_g5_48xlarge_are_on_one_root() -> None:
    assert verdict("g5.48xlarge", gpus(8)) == "guaranteed"


@pytest.mark.parametrize("machine", ["p4de.24xlarge", "p5.48xlarge"])
def test_without_a_public_recording_the_proof_does_not_decide(machine: str) -> None:
    assert verdict(machine, gpus(2)) == "unknown"


def test_each_gpu_of_a_gb300_on_aks_has_its_own_root() -> None:
    slots = clouds.machines()["Standard_ND128isr_GB300_v6"].topology
    assert slots is not None
    assert [(slot.pcie_root, slot.numa_node) for slot in slots] == [
        ("pci0008:00", 0),
        ("pci0009:00", 0),
        ("pci0018:00", 1),
        ("pci0019:00", 1),
    ]
