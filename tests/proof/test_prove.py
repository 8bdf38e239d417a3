import json
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from tests.proof.proof_helpers import fleet, gpus, pool, proved

ROOT = Path(__file__).parents[2]
STACKS = [ROOT / "Pulumi.dev.yaml", *sorted((ROOT / "examples").glob("*.yaml"))]
ANY_GPU = {"whole": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}}
PAIR = {"two": {"requests": {"gpu": {"class": "gpu.nvidia.com", "count": 2}}}}
SIZES = {**ANY_GPU, **PAIR}
MIG_80 = {"mig": pool("dgx-a100-80-8", "mig", sharing={"strategy": "mig", "layout": {"1g.10gb": 7}})}


WARNED = {
    "eks-karpenter": (
        (
            "cluster train: workload infer needs more nodes than nodes.min: "
            "pool a10g must grow above 0 of at most 3 nodes, which Karpenter can do from zero nodes"
        ),
        (
            "cluster train: workload train needs more nodes than nodes.min: "
            "pool h100 must grow above 0 of at most 2 nodes, which Karpenter can do from zero nodes"
        ),
    ),
    "team-queues": (
        (
            "cluster lab: workload sweep waits in its queue: "
            "it needs 3 gpus of queue batch, and waits while explore, serve, train are running"
        ),
    ),
}
"""Warnings of examples: pools that begin without a node, and a workload that waits for others to end."""


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_every_stack_of_the_project_is_guaranteed_to_fit(file: Path) -> None:
    settings = read_stack_file(file).settings
    proof = prove(make_plan(settings))
    assert proof.failures == ()
    assert proof.warnings == WARNED.get(file.stem, ())
    checked = [item.word for item in (*proof.workloads, *proof.claims)]
    assert set(checked) == ({"guaranteed"} if settings.claims else set())
    assert len(proof.workloads) == len(settings.workloads)


def test_the_dev_stack_names_the_rule_behind_each_verdict() -> None:
    proof = prove(make_plan(read_stack_file(ROOT / "Pulumi.dev.yaml").settings))
    reasons = {item.name: item.reason for item in proof.workloads}
    assert reasons["infer"].startswith("by counting: 28 of its devices would have to be in use")
    assert reasons["infer-pair"].startswith("by counting: 24 of its devices would have to be in use")
    assert reasons["train-pair"].startswith("by counting: all pods that can use these devices request 2 each")
    matches = {item.name: {fit.pool: fit.requests for fit in item.pools} for item in proof.claims}
    assert matches["partition"] == {"a100": {"part": 28}, "h100": {"part": 0}}


def test_one_copy_more_than_there_are_devices_never_fits() -> None:
    proof = proved(fleet({"a": pool(gpus(4), "a")}, claims=ANY_GPU, workloads={"train": ("whole", 5)}))
    assert [item.word for item in proof.workloads] == ["never"]
    assert proof.headline() == "proof of workloads: 1 never"
    (failure,) = proof.failures
    assert failure == (
        "dra-fleet:fleet.workloads.train: on cluster lab, never: train: 5 x 1 devices are requested, and 4 "
        "can match\n  fix: run 4 copies at most, or raise nodes.max"
    )


def test_memory_beyond_every_partition_matches_0_of_56_devices_and_says_what_the_largest_has() -> None:
    proof = proved(
        fleet(
            MIG_80,
            classes={"mig-10g": {"driver": "nvidia", "type": "mig", "memory": {"min": "10Gi"}}},
            claims={"part": {"requests": {"part": {"class": "mig-10g"}}}},
        )
    )
    (claim,) = proof.claims
    assert proof.headline() == "proof of workloads: there are none"
    assert (claim.word, claim.pools[0].requests, claim.pools[0].devices) == ("never", {"part": 0}, 56)
    assert claim.reason == (
        "pool mig: request part (class mig-10g) matches 0 of 56 devices of a node: "
        "`device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('10Gi')) >= 0` (class mig-10g, "
        "selector 0) is false on the nearest device, gpu-0-mig-1g10gb-19-0; "
        "the largest device has memory 9728Mi"
    )
    assert claim.fix == ("ask for memory of at most 9728Mi, or choose a machine or layout with other devices")
    assert not proof.fits


def test_an_order_that_leaves_a_pod_waiting_is_reported() -> None:
    proof = proved(
        fleet(
            {"a": pool(gpus(2), "a", (2, 2))},
            claims=SIZES,
            workloads={"one": ("whole", 2), "pair": ("two", 1)},
        )
    )
    words = {item.name: item.word for item in proof.workloads}
    assert words == {"one": "guaranteed", "pair": "possible"}
    order = next(item.order for item in proof.workloads if item.name == "pair")
    assert order == (
        "1 x one on a-0 (gpu-0)",
        "1 x one on a-1 (gpu-0)",
        "pair waits: no node has free devices for it",
    )
    assert proof.fits
    assert "1 x one on a-0 (gpu-0), then 1 x one on a-1 (gpu-0), then pair waits" in proof.warnings[0]


def _order_dependent(**workload: Any) -> dict[str, Any]:
    pair = {"claim": "two", "copies": 1, **workload}
    return fleet(
        {"a": pool(gpus(2), "a", (2, 2))},
        claims=SIZES,
        workloads={"one": ("whole", 2), "pair": pair},
        environment="production",
    )


def test_possible_stops_in_production_and_shows_the_order() -> None:
    proof = proved(_order_dependent())
    assert not proof.fits
    assert "accept: {order: the reason}" in proof.failures[0]
    assert (
        "  order: 1 x one on a-0 (gpu-0)\n         1 x one on a-1 (gpu-0)\n         pair waits"
        in proof.failures[0]
    )


def test_possible_passes_in_production_where_it_is_accepted_by_name() -> None:
    proof = proved(_order_dependent(accept={"order": "a human starts pair first"}))
    assert proof.fits
    assert "(accepted: a human starts pair first)" in proof.warnings[0]


def test_accepting_an_unknown_value_does_not_accept_an_order() -> None:
    assert not proved(_order_dependent(accept={"unknown": "because"})).fits


def test_a_selector_that_fails_on_one_pool_s_devices_is_an_error_for_the_cluster() -> None:
    proof = proved(
        fleet(
            {
                "mig": pool("hgx-a100-40-4", "mig", sharing={"strategy": "mig", "layout": {"1g.5gb": 7}}),
                "gpus": pool("hgx-h100-8", "gpus"),
            },
            classes={"by-profile": {"cel": ["device.attributes['gpu.nvidia.com'].profile == '1g.5gb'"]}},
            claims={"part": {"requests": {"part": {"class": "by-profile"}}}},
            workloads={"infer": ("part", 1)},
        )
    )
    assert {item.word for item in (*proof.claims, *proof.workloads)} == {"error"}
    assert (
        "fails on device gpu-0 of driver gpu.nvidia.com of pool gpus (no such key: profile)"
        in proof.failures[0]
    )
    assert "fix: guard it with device.driver, has() or orValue()" in proof.failures[0]


def test_a_pod_that_cannot_go_to_the_failing_pool_is_checked_by_the_others() -> None:
    proof = proved(
        fleet(
            {
                "mig": pool("hgx-a100-40-4", "mig", sharing={"strategy": "mig", "layout": {"1g.5gb": 7}}),
                "gpus": pool("hgx-h100-8", "gpus"),
            },
            classes={"by-profile": {"cel": ["device.attributes['gpu.nvidia.com'].profile == '1g.5gb'"]}},
            claims={"part": {"requests": {"part": {"class": "by-profile"}}}},
            workloads={"infer": {"claim": "part", "copies": 28, "nodeSelector": {"example.com/pool": "mig"}}},
        )
    )
    assert [item.word for item in proof.workloads] == ["guaranteed"]


def test_a_clause_on_an_unknown_value_is_neither_true_nor_false() -> None:
    proof = proved(
        fleet(
            {"l20": pool({"gpu": "L20", "gpus": 4, "cpus": 64, "memory": 512}, "l20")},
            classes={"big": {"driver": "nvidia", "type": "gpu", "memory": {"min": "44Gi"}}},
            claims={"one": {"requests": {"gpu": {"class": "big"}}}},
            workloads={"render": ("one", 1)},
        )
    )
    assert {item.word for item in (*proof.claims, *proof.workloads)} == {"unknown"}
    assert proof.fits
    assert (
        'device.capacity["gpu.nvidia.com"].memory is not known before the device exists' in proof.warnings[0]
    )


def test_an_expression_that_does_not_compile_is_refused_in_the_server_s_words() -> None:
    proof = proved(
        fleet(
            {"a": pool(gpus(2), "a")},
            classes={"wrong": {"cel": ["device.driver == 1"]}},
            claims={"one": {"requests": {"gpu": {"class": "wrong"}}}},
        )
    )
    (failure,) = proof.failures
    assert (
        "dra-fleet:fleet.classes.wrong: selector 0 is rejected by the API server of Kubernetes 1.36"
        in failure
    )
    assert "found no matching overload for '_==_' applied to '(string, int)'" in failure


def test_warns_about_workloads_that_fit_only_above_the_least_nodes() -> None:
    proof = proved(
        fleet({"a": pool(gpus(4), "a", (0, 2))}, claims=ANY_GPU, workloads={"train": ("whole", 8)})
    )
    (workload,) = proof.workloads
    assert (workload.word, workload.at_min) == ("guaranteed", "never")
    assert (workload.pools[0].at_min, workload.pools[0].at_max) == (0, 8)
    assert proof.fits
    assert "needs more nodes than nodes.min" in proof.warnings[0]


def test_a_taint_that_is_not_tolerated_keeps_the_workload_off_and_is_named() -> None:
    taints = [{"key": "example.com/reserved", "value": "x", "effect": "NoSchedule"}]
    proof = proved(
        fleet(
            {"a": pool(gpus(4), "a", taints=taints)},
            claims=ANY_GPU,
            workloads={"train": {"claim": "whole", "copies": 1, "tolerations": []}},
        )
    )
    assert (
        "pool a: taint example.com/reserved=x:NoSchedule of its nodes is not tolerated" in proof.failures[0]
    )


WHERE = "on cluster lab, never: pool a: "


@pytest.mark.parametrize(
    ("placed", "reason"),
    [
        ({"tolerations": []}, "taint example.com/reserved=x:NoSchedule of its nodes is not tolerated"),
        ({"nodeSelector": {"example.com/pool": "b"}}, "its nodes lack label example.com/pool=b"),
        ({"cpu": "900"}, "a pod requests more CPU, memory or pods than a node has"),
    ],
)
@pytest.mark.parametrize("expression", ["device.driver == 1", "device.driver == 'strange.example.com'"])
def test_the_placement_of_a_pod_is_checked_with_every_verdict_of_its_claim(
    expression: str, placed: dict[str, Any], reason: str
) -> None:
    taints = [{"key": "example.com/reserved", "value": "x", "effect": "NoSchedule"}]
    proof = proved(
        fleet(
            {"a": pool(gpus(4), "a", taints=taints)},
            classes={"unclear": {"cel": [expression]}},
            claims={"one": {"requests": {"gpu": {"class": "unclear"}}}},
            workloads={"train": {"claim": "one", "copies": 1, **placed}},
        )
    )
    output = [failure for failure in proof.failures if "workloads.train" in failure]
    assert output == [f"dra-fleet:fleet.workloads.train: {WHERE}{reason}"]


def test_cpu_that_runs_out_before_devices_counts() -> None:
    proof = proved(
        fleet(
            {"a": pool(gpus(4), "a")},
            claims=ANY_GPU,
            workloads={"train": {"claim": "whole", "copies": 4, "cpu": "20"}},
        )
    )
    (workload,) = proof.workloads
    assert workload.word == "never"
    assert workload.pools[0].at_max == 2


def test_the_json_is_plain_and_has_the_agreed_keys() -> None:
    proof = proved(fleet({"a": pool(gpus(4), "a")}, claims=ANY_GPU, workloads={"train": ("whole", 4)}))
    output = json.loads(json.dumps(proof.to_json()))
    assert output["fits"] is True
    assert output["workloads"][0]["pools"][0]["cost"]["got"] == {
        "memory": "160Gi",
        "multiprocessors": 432,
    } or output["workloads"][0]["pools"][0]["cost"]["got"] == {"memory": "40Gi", "multiprocessors": 108}
    assert output["workloads"][0]["pools"][0]["perNode"] == 4


def test_nodes_that_a_workload_may_not_go_to_do_not_count_for_it() -> None:
    here = {"claim": "two", "copies": 3, "nodeSelector": {"example.com/pool": "a"}}
    pools = {name: pool(gpus(3), name, (2, 2)) for name in ("a", "b")}
    proof = proved(fleet(pools, claims=PAIR, workloads={"pairs": here}))
    assert proof.workloads[0].word == "never"
    assert "3 are requested, and the nodes can run 2" in proof.workloads[0].reason
