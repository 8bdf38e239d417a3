from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_fleet.model.nodes import ONE_POD, ComputeResources, NodeGroup
from dra_fleet.proof import prove as proving
from dra_fleet.proof.demand.pod_sets import PodSet
from dra_fleet.proof.search import contention
from dra_fleet.proof.search.packing import kinds_of
from dra_fleet.proof.supply.prediction import predict
from tests.proof.proof_helpers import fleet, plan_of, pool, proved

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
CLASSES = {
    "large": {"driver": "nvidia", "type": "gpu", "memory": {"min": "70Gi"}},
    "none": {"driver": "nvidia", "type": "gpu", "memory": {"min": "900Gi"}},
}


def alike(pools: int, claims: int = 5) -> dict[str, Any]:
    """A stack of alike pools, and claims of all of them."""
    return fleet(
        {f"p{number}": pool("hgx-h100-8", f"p{number}") for number in range(pools)},
        claims={f"c{number}": {"requests": {"gpu": {"class": "large"}}} for number in range(claims)},
        classes=CLASSES,
        workloads={f"w{number}": (f"c{number}", 1) for number in range(claims)},
    )


def asked(monkeypatch: pytest.MonkeyPatch, stack: dict[str, Any]) -> int:
    """Count how often a proof compares nodes with pods."""
    count = 0
    answer = contention.suitability_of

    def counted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return answer(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(contention, "suitability_of", counted)
        proved(stack)
    return count


def test_a_hundred_alike_pools_are_asked_about_as_often_as_two(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, alike(100)) == asked(monkeypatch, alike(2)) == 10


def test_a_label_reports_pools_apart_only_where_pods_ask_for_it() -> None:
    cluster = plan_of(alike(3)).clusters[0]
    groups = predict(cluster)
    assert kinds_of(groups) == [0, 0, 0]
    assert kinds_of(groups, [pods(node_selector={"example.com/pool": "p0"})]) == [0, 1, 2]


def pods(fewest: int = 1, **output: Any) -> PodSet:
    """Pods whose claims take at least so many devices."""
    output = {"resources": ONE_POD, "node_selector": {}, **output}
    return cast("PodSet", SimpleNamespace(claim=SimpleNamespace(fewest=fewest), **output))


@pytest.mark.parametrize(
    ("asking", "kinds"),
    [
        (pods(), [0, 0, 2]),
        (pods(resources=ComputeResources(9000, 0, 1)), [0, 0, 2]),
        (pods(resources=ComputeResources(9001, 0, 1)), [0, 1, 2]),
        (pods(fewest=0), [0, 1, 2]),
    ],
)
def test_cpu_and_memory_report_nodes_apart_only_where_pods_may_run_out_of_them(
    asking: PodSet, kinds: list[int]
) -> None:
    machine = {"gpu": "H100-SXM5-80GB", "gpus": 8, "memory": 512}
    sizes = [{"cpus": 80}, {"cpus": 256}, {"cpus": 256, "gpus": 4}]
    pools = {f"p{number}": pool({**machine, **size}, f"p{number}") for number, size in enumerate(sizes)}
    groups = predict(plan_of(fleet(pools)).clusters[0])
    assert groups[0].shape.sure_resources.cpu == 9000 * 8
    assert kinds_of(groups, [asking]) == kinds


def each_separate(groups: Sequence[NodeGroup], pod_sets: Sequence[PodSet] = ()) -> list[int]:
    del pod_sets
    return list(range(len(groups)))


SMALL = {"gpu": "H100-SXM5-80GB", "gpus": 8, "cpus": 32, "memory": 512}
"""A machine with the devices of hgx-h100-8 and less beside them."""
POOLS = st.lists(
    st.tuples(
        st.sampled_from(["hgx-h100-8", "dgx-a100-40-8", "cpu-16", SMALL]),
        st.sampled_from([(0, 1), (1, 1), (2, 3)]),
        st.booleans(),
    ),
    min_size=2,
    max_size=7,
)
CLAIMS = st.lists(
    st.tuples(st.sampled_from(["gpu.nvidia.com", "large", "none"]), st.integers(1, 9), st.booleans()),
    min_size=1,
    max_size=4,
)
WORKLOADS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(1, 12),
        st.booleans(),
        st.none() | st.integers(0, 6),
        st.sampled_from("18"),
    ),
    max_size=5,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(pools=POOLS, claims=CLAIMS, workloads=WORKLOADS)
def test_every_answer_is_that_of_pools_checked_one_by_one(
    monkeypatch: pytest.MonkeyPatch, pools: list[Any], claims: list[Any], workloads: list[Any]
) -> None:
    constraint = [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]
    stack = fleet(
        {
            f"p{number}": pool(machine, f"p{number}", nodes, **({"taints": [TAINT]} if tainted else {}))
            for number, (machine, nodes, tainted) in enumerate(pools)
        },
        classes=CLASSES,
        claims={
            f"c{number}": {
                "requests": {"gpu": {"class": name, "count": count}},
                **({"constraints": constraint} if constrained else {}),
            }
            for number, (name, count, constrained) in enumerate(claims)
        },
        workloads={
            f"w{number}": {
                "claim": f"c{claim % len(claims)}",
                "copies": copies,
                "cpu": cpu,
                **({"tolerations": [{**TAINT, "operator": "Equal"}]} if tolerates else {}),
                **({} if at is None else {"nodeSelector": {"example.com/pool": f"p{at % len(pools)}"}}),
            }
            for number, (claim, copies, tolerates, at, cpu) in enumerate(workloads)
        },
    )
    found = proved(stack)
    with monkeypatch.context() as patched:
        patched.setattr(proving, "kinds_of", each_separate)
        assert proved(stack) == found
