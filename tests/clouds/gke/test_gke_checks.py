from collections.abc import Callable
from typing import Any

import pytest

from tests.clouds.gke.gke_fleets import KNOWN, cluster, l4, part, pool, tpu, warnings
from tests.fleet.plan.plan_helpers import planned, refused

POOL = "clusters.render.pools.gpu"
NVIDIA = "clusters.render.drivers.nvidia"
PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"


@pytest.mark.parametrize("fleet", [l4, part, tpu])
def test_the_fleets_that_are_broken_below_are_in_order(fleet: Callable[[], dict[str, Any]]) -> None:
    assert planned(fleet()).warnings == ()


def test_gke_s_own_driver_installation_never_ends_where_its_plugin_is_off() -> None:
    fleet = l4()
    pool(fleet)["gpuDriver"] = "gke"
    assert refused(fleet) == {
        f"{POOL}.gpuDriver": "leaves the nodes without a GPU driver: GKE's device plugin finishes the "
        "installation, and it is turned off on pools whose devices are allocated by DRA\n"
        "  got: gke\n  allowed: installer, external\n  fix: set gpuDriver: installer"
    }


@pytest.mark.parametrize(
    ("label", "why"),
    [
        (PLUGIN, "or GKE's device plugin advertises the GPUs that the DRA driver publishes"),
        ("nvidia.com/gpu.present", "or the DRA driver's plugin does not run on the pool's nodes"),
        (
            "cloud.google.com/gke-nvidia-gpu-dra-driver",
            "or the autoscaler never adds a node of this pool for a claim",
        ),
    ],
)
def test_none_of_the_three_labels_may_be_switched_off(label: str, why: str) -> None:
    fleet = l4()
    pool(fleet)["labels"] = {label: "false"}
    assert refused(fleet) == {
        f"{POOL}.labels.{label}": f"must be true, {why}\n"
        f"  got: false\n  allowed: true\n  fix: remove {label} from labels"
    }


def test_the_driver_s_owner_must_be_said() -> None:
    fleet = l4()
    pool(fleet)["gpuDriver"] = None
    assert refused(fleet) == {
        f"{POOL}.gpuDriver": "is left to GKE's own default, which is to install a driver by its device "
        "plugin\n"
        "  got: null\n  allowed: installer, external, gke\n  fix: set gpuDriver: installer"
    }


def test_autopilot_has_no_dra_for_gpus() -> None:
    fleet = l4()
    cluster(fleet)["mode"] = "Autopilot"
    assert refused(fleet) == {
        "clusters.render.mode": "has no DRA for GPUs: Autopilot makes its own nodes and installs its own "
        "device plugin\n  got: Autopilot\n  allowed: Standard\n  fix: set mode: Standard"
    }


@pytest.mark.parametrize(
    ("setting", "value", "what", "got", "fix"),
    [
        (
            "gpuSharing",
            {"strategy": "TIME_SHARING", "clients": 4},
            "is sharing by GKE's device plugin, never together with DRA on one pool",
            "TIME_SHARING",
            "remove it; claims share a GPU by their own configuration",
        ),
        (
            "gpuPartitionSize",
            "1g.5gb",
            "makes partitions that GKE's device plugin advertises, never together with DRA on one pool",
            "1g.5gb",
            "remove it",
        ),
    ],
)
def test_sharing_by_the_node_excludes_dra(setting: str, value: Any, what: str, got: str, fix: str) -> None:
    fleet = l4()
    pool(fleet)[setting] = value
    assert refused(fleet) == {f"{POOL}.{setting}": f"{what}\n  got: {got}\n  fix: {fix}"}


def test_no_one_makes_mig_partitions_on_gke() -> None:
    fleet = l4()
    pool(fleet).update(machine="a2-highgpu-1g", sharing={"strategy": "mig", "layout": {"1g.5gb": 7}})
    assert refused(fleet) == {
        f"{POOL}.sharing": "requests MIG partitions that nothing makes: the GPU Operator installs nothing on "
        "GKE's node images, and GKE's own partitions come with its device plugin\n"
        "  got: mig\n"
        "  allowed: whole GPUs, g4-standard-6, g4-standard-12 and g4-standard-24 for parts\n"
        "  fix: remove sharing, or set gpuDriver: external if your DaemonSet makes driver and partitions"
    }


def test_a_pool_of_gpus_that_the_autoscaler_does_not_know_keeps_a_node() -> None:
    fleet = part()
    pool(fleet)["nodes"]["min"] = 0
    assert refused(fleet) == {
        f"{POOL}.nodes.min": "must be at least 1: GKE's autoscaler does not know which devices a node with "
        f"nvidia-rtx-pro-6000 would have\n  got: 0\n  allowed: 1 or more; 0 with {KNOWN}\n"
        "  fix: set nodes: {min: 1, …}"
    }


def test_a_pool_of_partitions_made_elsewhere_keeps_a_node() -> None:
    fleet = l4()
    pool(fleet).update(
        machine="a2-highgpu-1g",
        sharing={"strategy": "mig", "layout": {"1g.5gb": 7}},
        gpuDriver="external",
        nodes={"min": 0, "max": 2},
    )
    assert refused(fleet) == {
        f"{POOL}.nodes.min": "must be at least 1: GKE's autoscaler expects whole GPUs of a new node, no MIG "
        "partitions\n  got: 0\n  allowed: 1 or more\n  fix: set nodes: {min: 1, …}"
    }


@pytest.mark.parametrize(
    ("requested", "asked"),
    [
        ({"driver": "nvidia", "memory": {"min": "20Gi"}}, "memory"),
        ({"driver": "nvidia", "type": "mig"}, "type mig"),
        ({"cel": ["device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L4'"]}, "an exact productName"),
        (
            {"cel": ["device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('580.0.0'))"]},
            "driverVersion",
        ),
    ],
)
def test_a_class_that_the_autoscaler_cannot_check_adds_no_first_node(
    requested: dict[str, Any], asked: str
) -> None:
    fleet = l4()
    pool(fleet)["nodes"]["min"] = 0
    fleet["classes"] = {"requested": requested}
    assert warnings(fleet) == (
        (
            f"cluster render: class requested requests {asked}, which GKE's autoscaler does not predict of a "
            "pool without nodes: it adds no first node to gpu for it; set nodes: {min: 1}, "
            "or ask for the architecture"
        ),
    )


def test_the_architecture_is_known_of_an_empty_pool() -> None:
    fleet = l4()
    pool(fleet)["nodes"]["min"] = 0
    fleet["classes"] = {"l4": {"driver": "nvidia", "type": "gpu", "architecture": "Ada Lovelace"}}
    assert warnings(fleet) == ()


DRANET = {"machine": "a3-ultragpu-8g", "dranet": True}


@pytest.mark.parametrize(
    ("where", "change", "path", "text"),
    [
        (
            "cluster",
            {"datapath": "LEGACY_DATAPATH"},
            "dranet",
            (
                "needs Dataplane V2\n  got: LEGACY_DATAPATH\n  allowed: ADVANCED_DATAPATH\n"
                "  fix: set datapath: ADVANCED_DATAPATH for the cluster"
            ),
        ),
        (
            "pool",
            {"machine": "g2-standard-8"},
            "dranet",
            (
                "is not offered for machine family g2\n  got: g2-standard-8\n"
                "  allowed: a3, a4, a4x, ct6e, tpu7x\n  fix: remove dranet, or choose another machine"
            ),
        ),
        (
            "cluster",
            {"kubernetes": "1.34", "version": "1.34.1-gke.1127000"},
            "dranet",
            (
                "needs GKE 1.34.1-gke.1829001 or later, the cluster runs 1.34.1-gke.1127000\n  got: true\n"
                "  fix: set version: 1.34.1-gke.1829001 or a later one, or remove version"
            ),
        ),
        (
            "pool",
            {"additionalNetworks": ["rdma-0"]},
            "additionalNetworks",
            (
                "cannot be combined with dranet, which makes the machine's networks itself\n  got: rdma-0\n"
                "  fix: remove additionalNetworks"
            ),
        ),
        (
            "cluster",
            {"drivers": {"dranet": {"version": "1.4.0"}}},
            "dranet",
            (
                "runs GKE's dranet driver on nodes where the stack installs dranet too; both would advertise "
                "the same devices\n  got: true\n"
                "  fix: remove dranet from the cluster's drivers, or dranet from the pool"
            ),
        ),
    ],
)
def test_managed_dranet_has_conditions(where: str, change: dict[str, Any], path: str, text: str) -> None:
    fleet = l4()
    pool(fleet).update(DRANET)
    assert "dranet" in str(planned(fleet).clusters[0].settings)
    (cluster(fleet) if where == "cluster" else pool(fleet)).update(change)
    assert refused(fleet) == {f"{POOL}.{path}": text}
