import json
from typing import Any

import pytest

from tests.proof.proof_helpers import fleet, gpus, pool, proved

POOLS = {"whole": pool("hgx-h100-8", "whole"), "cut": pool("dgx-a100-80-8", "cut")}
CUT = {"sharing": {"strategy": "mig", "layout": {"1g.10gb": 7}}}


def stack(classes: dict[str, Any], claims: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    pools = {"whole": POOLS["whole"], "cut": {**POOLS["cut"], **CUT}}
    return fleet(pools, classes=classes, claims=claims, **more)


def test_each_class_says_how_many_devices_of_a_node_are_of_it() -> None:
    proof = proved(
        stack({"parts": {"driver": "nvidia", "type": "mig"}, "gpus": {"driver": "nvidia", "type": "gpu"}})
    )
    found = {item.name: {fit.pool: fit.matches for fit in item.pools} for item in proof.classes}
    assert found == {"parts": {"whole": 0, "cut": 56}, "gpus": {"whole": 8, "cut": 0}}
    assert proof.warnings == ()


def test_a_class_that_no_device_is_of_is_reported_with_clause_value_and_fix() -> None:
    proof = proved(stack({"large": {"driver": "nvidia", "type": "mig", "memory": {"min": "10Gi"}}}))
    assert proof.fits
    [warning] = proof.warnings
    assert warning.startswith("dra-fleet:fleet.classes.large: class large matches 0 of ")
    assert "memory.compareTo(quantity('10Gi')) >= 0" in warning
    assert warning.endswith(
        "; ask for memory of at most 9728Mi, or choose a machine or layout with other devices"
    )


def test_a_class_that_a_claim_asks_for_is_reported_once_at_the_class() -> None:
    proof = proved(
        stack(
            {"large": {"driver": "nvidia", "type": "mig", "memory": {"min": "10Gi"}}},
            {"one": {"requests": {"gpu": {"class": "large"}}}},
        )
    )
    [failure] = proof.failures
    assert failure.startswith("dra-fleet:fleet.classes.large: class large matches 0 of ")
    assert "; used by claims one\n  fix: ask for memory of at most 9728Mi, or " in failure
    assert proof.warnings == ()


def test_the_highest_value_that_would_do_is_that_of_all_pools() -> None:
    pools = {"small": pool("dgx-a100-40-8", "small"), "large": pool("hgx-h100-8", "large")}
    large = {"large": {"driver": "nvidia", "type": "gpu", "memory": {"min": "90Gi"}}}
    claims = {name: {"requests": {"gpu": {"class": "large"}}} for name in ("one", "two")}
    [failure] = proved(fleet(pools, classes=large, claims=claims)).failures
    assert "of a node of each of the pools large, small: `" in failure
    assert "; used by claims one, two\n  fix: ask for memory of at most 81152Mi, or " in failure


def test_a_class_on_values_that_is_unknown_is_not_counted() -> None:
    newer = (
        "device.driver == 'gpu.nvidia.com' && "
        "device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('570.0.0'))"
    )
    proof = proved(stack({"newer": {"cel": [newer]}}))
    [item] = proof.classes
    assert [fit.matches for fit in item.pools] == [None, None]
    assert "depends on an unknown value" in item.pools[0].reason
    assert proof.warnings == ()


def test_a_class_that_does_not_compile_is_left_to_the_refusal() -> None:
    proof = proved(stack({"wrong": {"cel": ["device.driver == 1"]}}))
    assert proof.classes == ()
    assert len(proof.failures) == 1


def test_the_json_has_the_documented_keys() -> None:
    settings = fleet(
        {"a": pool(gpus(4), "a")},
        classes={"any": {"driver": "nvidia", "type": "gpu"}},
        claims={"one": {"requests": {"gpu": {"class": "any"}}}},
        workloads={"train": ("one", 4)},
    )
    output = json.loads(json.dumps(proved(settings).to_json()))
    assert list(output) == ["fits", "classes", "claims", "workloads", "failures", "warnings", "managed"]
    assert list(output["classes"][0]) == ["cluster", "name", "pools"]
    assert list(output["classes"][0]["pools"][0]) == ["pool", "matches", "devices", "reason", "fix"]
    assert list(output["claims"][0]) == ["cluster", "name", "word", "reason", "fix", "pools"]
    assert list(output["workloads"][0]) == [
        *(
            "cluster",
            "name",
            "claim",
            "copies",
            "word",
            "atMin",
            "reason",
            "fix",
            "order",
            "accepted",
            "pools",
            "admission",
            "gang",
            "waste",
        )
    ]
    fit = output["workloads"][0]["pools"][0]
    assert list(fit) == [
        *("pool", "requests", "devices", "perNode", "atMin", "atMax", "reason", "fix", "cost")
    ]
    assert list(fit["cost"]) == ["asked", "got", "stranded", "leftOnNode", "parts"]
    assert fit["cost"]["asked"] == {"memory": None, "multiprocessors": None}


def test_the_newest_version_that_would_do_is_that_of_all_pools() -> None:
    new = {"new": {"driver": "nvidia", "computeCapability": {"min": "10.0"}}}
    [failure] = proved(stack(new, {"one": {"requests": {"gpu": {"class": "new"}}}})).failures
    assert "; the newest device has cudaComputeCapability 9.0.0; used by claims one\n" in failure
    assert "\n  fix: ask for cudaComputeCapability of at most 9.0.0, or choose a machine or layout" in failure


@pytest.mark.parametrize(
    ("requested", "fix"),
    [
        ({"count": 9}, "request at most 8, or choose a machine with more of them"),
        (
            {"selectors": ["device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('90Gi')) >= 0"]},
            "ask for memory of at most 81152Mi, or choose a machine or layout with other devices",
        ),
    ],
)
def test_the_fix_of_a_claim_is_that_of_the_pool_it_nearly_fits(requested: dict[str, Any], fix: str) -> None:
    gpus_ = {"gpus": {"driver": "nvidia", "type": "gpu"}}
    [failure] = proved(stack(gpus_, {"one": {"requests": {"gpu": {"class": "gpus", **requested}}}})).failures
    assert failure.startswith("dra-fleet:fleet.claims.one: on cluster lab: pool ")
    assert failure.endswith(f"\n  fix: {fix}")
