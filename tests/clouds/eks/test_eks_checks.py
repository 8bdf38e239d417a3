"""Each test breaks one thing on EKS; the plan says what, where, and how to put it right."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.clouds.eks import checks
from dra_fleet.clouds.eks.facts import eks_facts
from tests.clouds.eks.eks_fleets import RESERVATION, cluster, h100, mig, pool, ultra, values, warnings
from tests.fleet.plan.plan_helpers import planned, refused

if TYPE_CHECKING:
    from collections.abc import Callable

POOL = "clusters.train.pools.gpu"
CLUSTER = "clusters.train"


@pytest.mark.parametrize("fleet", [h100, mig, ultra])
def test_the_fleets_that_are_broken_below_are_in_order(fleet: Callable[[], dict[str, Any]]) -> None:
    assert planned(fleet()).warnings == ()


def test_auto_mode_has_no_claims() -> None:
    fleet = h100()
    cluster(fleet)["autoMode"] = True
    assert refused(fleet) == {
        f"{CLUSTER}.autoMode": "has no Dynamic Resource Allocation; pods with claims would stay Pending\n"
        "  got: true\n  allowed: false\n"
        "  fix: remove autoMode; the stack's node groups are scaled by the cluster autoscaler"
    }


def test_subnets_of_another_region_are_refused() -> None:
    fleet = h100()
    cluster(fleet)["region"] = "eu-west-1"
    assert refused(fleet)[f"{CLUSTER}.region"].startswith("is not the region of us-east-1a")


def test_a_device_plugin_beside_the_dra_driver_would_advertise_the_gpus_twice() -> None:
    fleet = mig()
    cluster(fleet)["gpuOperator"]["values"] = {"devicePlugin": {"enabled": True}}
    assert refused(fleet) == {
        f"{CLUSTER}.gpuOperator.values.devicePlugin.enabled": "would advertise the GPUs that the DRA driver "
        "publishes, so that each is allocated twice\n  got: true\n  allowed: false\n"
        "  fix: remove it from values, or set advertise: device-plugin on the pools that it is for"
    }


def test_the_operator_installs_no_driver_beside_the_image_s() -> None:
    fleet = mig()
    cluster(fleet)["gpuOperator"]["values"] = {"driver": {"enabled": True}}
    assert refused(fleet) == {
        f"{CLUSTER}.gpuOperator.values.driver.enabled": "contradicts the pools: two owners of one GPU "
        "driver, or none\n  got: true\n  allowed: false\n"
        "  fix: remove it from values: the node image includes the GPU driver"
    }


@pytest.mark.parametrize("karpenter", [None, "1.15.1"])
def test_a_node_group_with_claims_cannot_be_empty(karpenter: str | None) -> None:
    fleet = h100()
    pool(fleet)["nodes"]["min"] = 0
    if karpenter is not None:
        cluster(fleet)["karpenter"] = karpenter
    assert refused(fleet) == {
        f"{POOL}.nodes.min": "must be at least 1: the autoscaler does not know which devices a new node "
        "would have\n  got: 0\n  allowed: 1 or more, or 0 with karpenter: true of the pool\n"
        "  fix: set nodes: {min: 1, …}"
    }


def with_karpenter(**changes: Any) -> dict[str, Any]:
    fleet = h100()
    cluster(fleet)["karpenter"] = "1.15.1"
    pool(fleet).update({"karpenter": True, "nodes": {"min": 0, "max": 2}, **changes})
    return fleet


def test_karpenter_creates_the_nodes_of_a_pool_from_zero() -> None:
    plan = planned(with_karpenter())
    [release] = [one for one in plan.clusters[0].releases if one.name == "karpenter"]
    assert plan.clusters[0].pools[0].autoscaler == "Karpenter"
    assert release.values["settings"] == {"clusterName": "train", "enableDRA": True}


def test_karpenter_keeps_no_minimum() -> None:
    assert refused(with_karpenter(nodes={"min": 1, "max": 2})) == {
        f"{POOL}.nodes.min": "must be 0: Karpenter makes nodes only for pods that need them\n  got: 1\n"
        "  allowed: 0\n  fix: set nodes: {min: 0, …}, or remove karpenter of the pool"
    }


def test_a_pool_of_karpenter_has_no_settings_of_node_groups() -> None:
    assert refused(with_karpenter(efa=True)) == {
        f"{POOL}.efa": "is not supported in a pool whose nodes Karpenter makes\n"
        "  fix: remove efa, or karpenter of the pool"
    }


@pytest.mark.parametrize("version", [None, "1.14.2", "1.15"])
def test_a_created_cluster_needs_the_exact_version_of_a_karpenter_that_knows_claims(
    version: str | None,
) -> None:
    fleet = with_karpenter()
    cluster(fleet).pop("karpenter")
    if version is not None:
        cluster(fleet)["karpenter"] = version
    assert refused(fleet) == {
        f"{POOL}.karpenter": "requires the version of Karpenter, with dynamic resources, in the cluster's "
        f"settings\n  got: {version or 'no version'}\n  allowed: 1.15.0 or later, with all three numbers if "
        'the stack creates the cluster\n  fix: set karpenter: "1.15.1" of the cluster'
    }


def test_a_capacity_block_is_a_reservation() -> None:
    fleet = ultra()
    del pool(fleet)["reservation"]
    assert refused(fleet) == {
        f"{POOL}.reservation": "is required: machines of a Capacity Block start only in their reservation\n"
        "  fix: add reservation: cr-…, the Capacity Block's"
    }


def test_a_capacity_block_is_in_one_zone() -> None:
    fleet = ultra()
    del pool(fleet)["zones"]
    assert refused(fleet) == {
        f"{POOL}.zones": "must be the one zone of the Capacity Block: elsewhere no machine starts\n"
        "  got: us-east-1a, us-east-1b\n  allowed: one zone\n"
        "  fix: set zones: [us-east-1a], if that is the block's"
    }


def test_efa_without_a_placement_group_is_reported() -> None:
    fleet = h100()
    pool(fleet).update(efa=True, placementGroup=False)
    assert warnings(fleet) == (
        (
            "cluster train: pool gpu has EFA without a placement group, so that its nodes may be far apart; "
            "remove placementGroup: false"
        ),
    )


def test_efa_in_a_security_group_of_one_s_own_is_reported() -> None:
    fleet = h100()
    pool(fleet).update(efa=True, securityGroup="sg-0123456789abcdef0")
    assert warnings(fleet) == (
        (
            "cluster train: pool gpu has EFA in security group sg-0123456789abcdef0, which must allow all "
            "traffic from and to itself; remove securityGroup and the stack makes one"
        ),
    )


@pytest.mark.parametrize(
    ("kubernetes", "gates", "what"),
    [
        (
            "1.35",
            {"DynamicMIG": True},
            (
                "needs the cluster's feature gate DRAPartitionableDevices, which is off in Kubernetes 1.35\n"
                "  got: true\n  fix: use Kubernetes 1.36 or later"
            ),
        ),
        (
            "1.36",
            {"DynamicMIG": True, "MPSSupport": True},
            (
                "cannot be on together with MPSSupport; every pod of the driver would crash-loop\n"
                "  got: DynamicMIG=true, MPSSupport=true\n  fix: set one of them to false"
            ),
        ),
    ],
)
def test_partitions_on_demand_need_their_gates(kubernetes: str, gates: dict[str, bool], what: str) -> None:
    fleet = h100()
    fleet["kubernetes"] = kubernetes
    values(fleet, {"featureGates": gates})
    assert refused(fleet) == {f"{CLUSTER}.drivers.nvidia.values.featureGates.DynamicMIG": what}


@pytest.mark.parametrize(
    ("machine", "gpu"),
    [("g4dn.xlarge", "T4"), ("g5.xlarge", "A10G"), ("g6.xlarge", "L4"), ("g6e.xlarge", "L40S")],
)
def test_these_gpus_have_no_partitions(machine: str, gpu: str) -> None:
    fleet = mig()
    pool(fleet)["machine"] = machine
    assert refused(fleet) == {
        f"{POOL}.sharing.layout": f"requests MIG partitions, which {gpu} cannot have\n"
        "  got: {1g.10gb: 7}\n  allowed: sharing: {strategy: exclusive}\n"
        "  fix: remove sharing, or choose a machine whose GPUs have MIG (A30, A100, H100 and later)"
    }


def test_the_gpus_of_an_ultra_server_have_no_partitions() -> None:
    fleet = ultra()
    cluster(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    pool(fleet)["sharing"] = {"strategy": "mig", "layout": {"1g.23gb": 7}}
    assert refused(fleet) == {
        f"{POOL}.sharing": "requests MIG partitions, which p6e-gb200.36xlarge cannot have: its GPUs share "
        "their memory with the CPU (CDMM)\n  got: mig\n  allowed: exclusive\n  fix: remove sharing"
    }


def _on(monkeypatch: pytest.MonkeyPatch, day: dt.date) -> None:
    """Let the facts be of that day."""
    facts = eks_facts().model_copy(update={"date": day})
    monkeypatch.setattr(checks, "eks_facts", lambda: facts)


def old() -> dict[str, Any]:
    fleet = h100()
    fleet["kubernetes"] = "1.34"
    return fleet


def test_a_minor_without_support_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _on(monkeypatch, dt.date(2026, 12, 3))
    assert refused(old()) == {
        f"{CLUSTER}.support": "does not cover Kubernetes 1.34 since 2026-12-02: EKS upgrades the control "
        "plane by itself\n  got: STANDARD\n  allowed: EXTENDED\n"
        "  fix: upgrade kubernetes, or set support: EXTENDED"
    }


def test_the_end_of_support_is_reported_in_advance() -> None:
    assert warnings(old())[-1] == (
        "cluster train: EKS supports Kubernetes 1.34 without extended support until 2026-12-02; "
        "plan the upgrade, or set support: EXTENDED"
    )


def test_extended_support_is_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    _on(monkeypatch, dt.date(2026, 12, 3))
    fleet = old()
    cluster(fleet)["support"] = "EXTENDED"
    assert not any("EKS supports" in warning for warning in planned(fleet).warnings)


def test_an_ultra_server_is_sold_by_capacity_blocks_only() -> None:
    fleet = ultra()
    pool(fleet)["capacity"] = "ON_DEMAND"
    assert refused(fleet) == {
        f"{POOL}.capacity": "is not how p6e-gb200.36xlarge is sold\n  got: ON_DEMAND\n"
        "  allowed: CAPACITY_BLOCK\n"
        "  fix: buy a Capacity Block, then set capacity: CAPACITY_BLOCK and reservation: cr-…"
    }


def test_spot_machines_take_no_reservation() -> None:
    fleet = h100()
    pool(fleet).update(capacity="SPOT", reservation=RESERVATION)
    assert refused(fleet) == {
        f"{POOL}.reservation": f"cannot be used by spot machines\n  got: {RESERVATION}\n"
        "  fix: remove it, or set capacity: ON_DEMAND"
    }


def test_a_zone_needs_a_subnet() -> None:
    fleet = h100()
    pool(fleet)["zones"] = ["us-east-1f"]
    assert refused(fleet) == {
        f"{POOL}.zones": "names a zone in which the cluster has no subnet\n  got: us-east-1f\n"
        "  allowed: us-east-1a, us-east-1b\n"
        "  fix: add a subnet of the zone to the cluster, or choose another zone"
    }


def test_efa_needs_network_cards_that_have_it() -> None:
    fleet = h100()
    pool(fleet).update(machine="g6.xlarge", efa=True)
    found = refused(fleet)[f"{POOL}.efa"]
    assert found.startswith(
        "is not there: g6.xlarge has no network card with EFA\n  got: true\n  allowed: g4dn."
    )


def test_partitions_need_someone_who_makes_them() -> None:
    fleet = mig()
    del cluster(fleet)["gpuOperator"]
    assert refused(fleet) == {
        f"{POOL}.sharing": "requests MIG partitions that nothing makes: the operator's MIG manager does\n"
        "  got: mig\n  fix: add gpuOperator: {version: v26.7.2} to the cluster"
    }


def test_the_driver_root_is_the_image_s() -> None:
    fleet = h100()
    values(fleet, {"nvidiaDriverRoot": "/run/nvidia/driver"})
    assert refused(fleet) == {
        f"{CLUSTER}.drivers.nvidia.values.nvidiaDriverRoot": "is not where the node images of EKS have the "
        "GPU driver\n  got: /run/nvidia/driver\n  allowed: /\n  fix: remove it from values"
    }


def test_labels_of_eks_s_own_prefix_are_refused() -> None:
    fleet = h100()
    pool(fleet)["labels"] = {"eks.amazonaws.com/nodegroup": "mine"}
    assert refused(fleet) == {
        f"{POOL}.labels.eks.amazonaws.com/nodegroup": "has a prefix that belongs to EKS or Kubernetes; AWS "
        "refuses it\n  got: eks.amazonaws.com/nodegroup\n  fix: choose a prefix of your own"
    }
