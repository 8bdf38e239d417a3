from typing import Any

import pytest

from tests.clouds.gke.gke_fleets import KNOWN, cluster, l4, pool, tpu
from tests.fleet.plan.plan_helpers import refused

POOL = "clusters.render.pools.gpu"


CAPACITY: list[tuple[dict[str, Any], str, str]] = [
    (
        {"spot": True, "reservation": {"consume": "ANY_RESERVATION"}},
        "reservation.consume",
        (
            "cannot be combined with spot\n  got: ANY_RESERVATION\n  allowed: NO_RESERVATION\n"
            "  fix: remove reservation, or spot"
        ),
    ),
    (
        {"flexStart": True, "autoRepair": False, "reservation": {"consume": "ANY_RESERVATION_THEN_FAIL"}},
        "reservation.consume",
        (
            "cannot be combined with flexStart\n  got: ANY_RESERVATION_THEN_FAIL\n  allowed: NO_RESERVATION\n"
            "  fix: remove reservation, or flexStart"
        ),
    ),
    (
        {
            "queued": True,
            "nodes": {"min": 0, "max": 2},
            "reservation": {"consume": "SPECIFIC_RESERVATION", "names": ["mine"]},
        },
        "reservation.consume",
        (
            "cannot be combined with queued\n  got: SPECIFIC_RESERVATION\n  allowed: NO_RESERVATION\n"
            "  fix: remove reservation, or queued"
        ),
    ),
    (
        {"spot": True, "queued": True, "nodes": {"min": 0, "max": 2}},
        "spot",
        "cannot be combined with queued\n  got: true\n  fix: remove spot, or queued",
    ),
    (
        {"spot": True, "flexStart": True, "autoRepair": False},
        "spot",
        "cannot be combined with flexStart\n  got: true\n  fix: remove spot, or flexStart",
    ),
    (
        {"flexStart": True},
        "autoRepair",
        (
            "must be false with flexStart: a repaired node would give its capacity back\n  got: true\n"
            "  allowed: false\n  fix: set autoRepair: false"
        ),
    ),
    (
        {"flexStart": True, "autoRepair": False, "nodes": {"min": 1, "max": 1}},
        "nodes",
        (
            "must not be a fixed number with flexStart: nodes are created when there is capacity\n  got: 1\n"
            "  fix: let nodes.max be larger than nodes.min"
        ),
    ),
    (
        {"flexStart": True, "autoRepair": False, "placement": {"compact": True}},
        "placement.compact",
        (
            "cannot be combined with flexStart on g2-standard-8\n  got: true\n"
            "  allowed: with a3-ultragpu, a4 and h4d machines\n  fix: remove placement, or flexStart"
        ),
    ),
    (
        {"queued": True},
        "nodes.min",
        (
            "must be 0 with queued: nodes come with a request and go with it\n  got: 1\n  allowed: 0\n"
            "  fix: set nodes: {min: 0, …}"
        ),
    ),
    (
        {"queued": True, "nodes": {"min": 0, "max": 2}, "placement": {"compact": True}},
        "placement.compact",
        "cannot be combined with queued\n  got: true\n  fix: remove placement, or queued",
    ),
    (
        {"placement": {"compact": True}, "zones": ["us-central1-a", "us-central1-b"]},
        "placement.compact",
        (
            "needs nodes in one zone\n  got: true with zones us-central1-a, us-central1-b\n"
            "  fix: name exactly one zone"
        ),
    ),
    (
        {"placement": {"compact": True}, "upgrade": {"strategy": "BLUE_GREEN"}},
        "placement.compact",
        (
            "cannot be combined with upgrade strategy BLUE_GREEN\n  got: true\n"
            "  fix: set upgrade: {strategy: SURGE}"
        ),
    ),
]


SLICES: list[tuple[dict[str, Any], str]] = [
    (
        {"placement": {"topology": "4x4"}, "nodes": {"min": 1, "max": 4}},
        (
            "makes the pool one slice of whole nodes with 4 chips each, which come together\n"
            "  got: 4x4 with nodes: {min: 1, max: 4}\n  allowed: nodes: {min: 4, max: 4}\n"
            "  fix: set nodes: {min: 4, max: 4}"
        ),
    ),
    (
        {"placement": {"topology": "3x3"}, "nodes": {"min": 2, "max": 2}},
        (
            "makes the pool one slice of whole nodes with 4 chips each, which come together\n"
            "  got: 3x3 with nodes: {min: 2, max: 2}\n  allowed: a topology of 8 chips\n"
            "  fix: change topology or nodes"
        ),
    ),
    (
        {"placement": {"topology": "2x2", "compact": False}, "machine": "g2-standard-8"},
        "is that of a TPU slice, and g2-standard-8 has no TPU\n  got: 2x2\n  fix: remove topology",
    ),
]


@pytest.mark.parametrize(("change", "text"), SLICES)
def test_a_slice_of_tpus_is_added_as_a_whole(change: dict[str, Any], text: str) -> None:
    fleet = tpu()
    del fleet["workloads"], fleet["claims"]
    cluster(fleet)["drivers"]["nvidia"] = {"version": "0.5.0"}
    pool(fleet).update(change)
    assert refused(fleet) == {f"{POOL}.placement.topology": text}


def test_a_release_channel_upgrades_every_pool_by_itself() -> None:
    fleet = l4()
    pool(fleet)["upgrade"] = {"auto": False}
    assert refused(fleet) == {
        f"{POOL}.upgrade.auto": "must be true in a cluster with release channel REGULAR; Google refuses the "
        "pool\n  got: false\n  allowed: true\n"
        "  fix: remove auto and set upgrades: {window: …} for the cluster, or upgrades: "
        "{channel: UNSPECIFIED}"
    }


def test_a_queued_pool_of_gpus_that_the_autoscaler_does_not_know_cannot_be() -> None:
    fleet = l4()
    pool(fleet).update(machine="a3-ultragpu-8g", queued=True, nodes={"min": 0, "max": 2})
    assert refused(fleet) == {
        f"{POOL}.nodes.min": "must be at least 1: GKE's autoscaler does not know which devices a node with "
        f"nvidia-h200-141gb would have\n  got: 0\n  allowed: 1 or more; 0 with {KNOWN}\n"
        "  fix: remove queued, and set nodes: {min: 1, …}"
    }


@pytest.mark.parametrize(("change", "path", "text"), CAPACITY)
def test_ways_to_capacity_exclude_each_other(change: dict[str, Any], path: str, text: str) -> None:
    fleet = l4()
    pool(fleet).update(change)
    assert refused(fleet) == {f"{POOL}.{path}": text}
