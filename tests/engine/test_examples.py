"""Every example, rehearsed from its file to allocated devices.

The example of an older minor builds that minor's scheduler when first needed; a cold build takes minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.agreement import disagreements
from tests.engine.rehearsed import PROJECT
from tests.engine.test_migration import STEPS

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

ALLOCATED = {
    "eks-mig": ("train", "v1.35.2-eks-f69f56f", {"infer": 63}),
    "gke-tpu": ("tpus", "v1.36.3-gke.1089000", {"train": 2}),
    "amd-gpus": ("lab", "v1.36.3", {"train": 1, "serve": 4}),
}
"""By example: its cluster, what the cluster's /version says, and the copies of each workload."""
CHECKED_AT_LENGTH = {
    "floor-1.34": ("floor", "v1.34.9", {"smoke": 4}),
    "existing-cluster": ("edge", "v1.36.3", {"render": 4}),
    "gke-fallback": ("render", "v1.35.8-gke.1036000", {"render": 3, "preview": 2}),
    "all-sharing": (
        "claimed",
        "v1.36.3",
        {"exclusive": 1, "partitioned": 1, "sliced": 2, "mps": 2, "vgpu": 1},
    ),
    "aks-mig": ("mnist", "v1.35.6", {"mnist": 7}),
    "eks-karpenter": ("train", "v1.35.2-eks-f69f56f", {"infer": 6, "train": 2}),
    "aks-sharing": ("shared", "v1.36.2", {"serve": 6, "train": 1, "trials": 3}),
    "eks-ultraserver": ("ultra", "v1.35.2-eks-f69f56f", {"pretrain": 2}),
    "ack-whole-gpus": ("asia", "v1.36.2-aliyun.1", {"pod1": 2}),
    "gke-shared-gpu": ("shared", "v1.36.3-gke.1089000", {"notebooks": 4}),
    "network-cards": ("edge", "v1.36.3", {"gateway": 4, "workers": 3}),
    "gke-network-cards": ("train", "v1.36.3-gke.1089000", {"pretrain": 2}),
    "own-catalogue/own": ("lab", "v1.36.3", {"train": 4}),
    "any-gpu-by-memory": ("lab", "v1.36.3", {"train": 12}),
    "gke-part-of-a-gpu": ("parts", "v1.35.8-gke.1036000", {"notebooks": 3}),
    "pcie-topology": ("lab", "v1.36.3", {"train-pair": 8}),
    "intel-gpus": ("lab", "v1.36.3", {"transcode": 8}),
    "fpga-unknown-driver": ("lab", "v1.36.3", {"radar": 4, "filters": 2}),
    "aks-vgpu": ("vgpu", "v1.35.6", {"notebooks": 2, "render": 1}),
    "team-queues": ("lab", "v1.36.3", {"train": 4, "serve": 3, "explore": 1, "sweep": 0}),
    "dynamic-mig": ("lab", "v1.36.3", {"notebooks": 2, "tune": 1, "train": 1}),
    "utilisation": ("lab", "v1.36.3", {"on-parts": 28, "on-whole-gpus": 4}),
    "production": ("training", "v1.35.2-eks-f69f56f", {"train": 1}),
}
"""Examples for `make test-full` only: other tests cover their clouds and drivers."""


def test_no_example_is_omitted() -> None:
    alone = {name for name in (*ALLOCATED, *CHECKED_AT_LENGTH, *STEPS) if "/" not in name}
    assert alone == {file.stem for file in (PROJECT / "examples").glob("*.yaml")}


@pytest.mark.parametrize(
    "example", [*ALLOCATED, *(pytest.param(name, marks=pytest.mark.full) for name in CHECKED_AT_LENGTH)]
)
def test_an_example_reaches_the_allocation_that_was_proved_and_its_cluster_is_in_order(
    own_rehearsed: Rehearsed, example: str
) -> None:
    cluster, version, workloads = (ALLOCATED | CHECKED_AT_LENGTH)[example]
    file = f"examples/{example}.yaml"

    up = own_rehearsed.run("rehearse", "up", file, "--json")
    doctor = own_rehearsed.shell(f"dra-fleet doctor {file}")

    assert up.code == 0, up.err
    assert up.json["all_allocated"] is True
    shown = up.json["clusters"][cluster]
    assert shown["kubernetes"] == version
    allocated = {name: item["allocated"] for name, item in shown["workloads"].items()}
    assert allocated == workloads
    assert disagreements(own_rehearsed.run("prove", file, "--json").json, up.json["clusters"]) == []
    assert doctor.code == 0, doctor.out + doctor.err
    state = own_rehearsed.state(example.rpartition("/")[2])
    assert "certificate-authority-data" not in state, "a kubeconfig is in the state in clear"
    assert "PRIVATE KEY" not in state
