from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from tests.clouds.aks.aks_fleets import cluster, pool, vgpu

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


@pytest.mark.parametrize(
    ("machine", "cards"), [("p4de.24xlarge", 1), ("p5en.48xlarge", 4), ("p6-b200.48xlarge", 2)]
)
def test_two_gpus_share_one_root_with_their_cards_on_machines_with_a_recording(
    machine: str, cards: int
) -> None:
    def near(count: int) -> dict[str, Any]:
        return gpus(2, card={"class": "efa.networking.k8s.aws", "count": count})

    assert (verdict(machine, near(cards)), verdict(machine, near(cards + 1))) == ("guaranteed", "never")
    assert verdict(machine, gpus(3)) == "never"


@pytest.mark.parametrize(
    ("machine", "cards"), [("p5.48xlarge", 4), ("p5e.48xlarge", 4), ("p6-b300.48xlarge", 2)]
)
def test_each_gpu_has_a_root_with_its_cards_on_machines_whose_roots_alone_are_recorded(
    machine: str, cards: int
) -> None:
    def near(count: int) -> dict[str, Any]:
        return gpus(1, card={"class": "efa.networking.k8s.aws", "count": count})

    assert (verdict(machine, near(cards)), verdict(machine, near(cards + 1))) == ("guaranteed", "never")
    assert verdict(machine, gpus(2)) == "never"


def test_gpus_of_a_virtual_machine_with_one_root_share_it() -> None:
    assert verdict("g5.12xlarge", gpus(4)) == "guaranteed"


def test_without_a_public_recording_the_proof_does_not_decide() -> None:
    assert verdict("g7e.48xlarge", gpus(2)) == "unknown"


@pytest.mark.parametrize(
    ("machine", "domains"),
    [
        ("Standard_ND128isr_GB300_v6", {"0008": 0, "0009": 0, "0018": 1, "0019": 1}),
        ("Standard_NC96ads_A100_v4", {"0001": 0, "0002": 1, "0003": 2, "0004": 3}),
        (
            "Standard_ND96amsr_A100_v4",
            {"0001": 1, "0002": 1, "0003": 0, "0004": 0, "000b": 3, "000c": 3, "000d": 2, "000e": 2},
        ),
        (
            "Standard_ND96isr_H100_v5",
            {"0001": 0, "0002": 0, "0003": 0, "0008": 0, "0009": 1, "000a": 1, "000b": 1, "000c": 1},
        ),
    ],
)
def test_each_gpu_on_aks_has_its_own_root(machine: str, domains: dict[str, int]) -> None:
    slots = clouds.machines()[machine].topology
    assert slots is not None
    assert [(slot.pcie_root, slot.numa_node) for slot in slots] == [
        (f"pci{domain}:00", node) for domain, node in domains.items()
    ]


@pytest.mark.parametrize(("root", "word"), [("pci0101:00", "never"), ("pci0009:00", "guaranteed")])
def test_gpu_and_card_of_a_gb300_share_no_root(root: str, word: str) -> None:
    """The driver publishes the root of the card; the GPU is below the root of its Data Direct interface.

    Source of the card's address: the slices that `topologySource` of the machine names.
    """
    publisher = "sriovnetwork.k8snetworkplumbingwg.io"
    settings = vgpu()
    described = {"publishes": publisher, "chart": "oci://ghcr.io/k8snetworkplumbingwg/dra-driver-sriov-chart"}
    cluster(settings)["drivers"]["sriov"] = {"version": "1.0.0", "described": described}
    card = {"driver": publisher, "name": "vf", "attributes": {"resource.kubernetes.io/pcieRoot": root}}
    pool(settings).update(machine="Standard_ND128isr_GB300_v6", devices=[card])
    settings["classes"] = {"function": {"driver": "sriov"}}
    requests = {"gpu": {"class": "gpu.nvidia.com"}, "card": {"class": "function"}}
    settings["claims"] = {"near": {"requests": requests, "constraints": ROOT}}
    settings["workloads"] = {"train": {"cluster": "studio", "claim": "near", "copies": 1}}
    [claim] = prove(make_plan(parse(settings))).claims
    assert claim.word == word
