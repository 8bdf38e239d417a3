from typing import Any

from dra_fleet.model.plan import QueuePlan, WorkloadPlan
from dra_fleet.proof.answer.admission import MOST_OF_COHORT, admissions
from dra_fleet.proof.prove import prove
from tests.proof.proof_helpers import fleet, plan_of, pool


def queue(name: str, gpus: int, *, cohort: str | None = "gpus", **more: Any) -> QueuePlan:
    return QueuePlan(
        name=name,
        namespace="ns",
        cohort=cohort,
        quotas={"gpus": gpus},
        borrowing=more.get("borrowing", {}),
        reclaims=more.get("reclaims", "Never"),
    )


def workload(name: str, of: str, gpus: int) -> WorkloadPlan:
    return WorkloadPlan(
        name=name,
        namespace="ns",
        template="gpu",
        claim=None,
        copies=gpus,
        runs=None,
        node_selector={},
        tolerations=(),
        cpu="1",
        memory="1Gi",
        queue=of,
        quota={"gpus": 1},
    )


def words(queues: list[QueuePlan], *workloads: tuple[str, str, int]) -> dict[str, str]:
    found = admissions(queues, [workload(*item) for item in workloads])
    return {name: item.word for name, item in found.of.items()}


def test_workloads_that_fit_into_the_cohort_start_in_every_order() -> None:
    assert words([queue("a", 4), queue("b", 4)], ("one", "a", 6), ("two", "b", 2)) == {
        "one": "guaranteed",
        "two": "guaranteed",
    }


def test_without_reclaiming_the_first_workload_keeps_borrowed_quota() -> None:
    assert words([queue("a", 4), queue("b", 4)], ("one", "a", 6), ("two", "b", 4)) == {
        "one": "possible",
        "two": "possible",
    }


def test_an_owner_that_reclaims_is_started_in_every_order_and_the_borrower_waits() -> None:
    queues = [queue("a", 4), queue("b", 4, reclaims="Any")]
    found = admissions(queues, [workload("one", "a", 6), workload("two", "b", 4)])
    assert {name: item.word for name, item in found.of.items()} == {"one": "never", "two": "guaranteed"}
    assert found.of["one"].reason == "it needs 6 gpus of queue a, and waits while two is running"
    assert found.ends == (frozenset({"two"}),)
    assert found.stops


def test_of_two_that_do_not_fit_into_one_quota_either_may_be_started() -> None:
    assert words([queue("a", 4, cohort=None)], ("one", "a", 3), ("two", "a", 3), ("three", "a", 1)) == {
        "one": "possible",
        "two": "possible",
        "three": "guaranteed",
    }


def test_a_limit_of_borrowing_holds_however_much_is_free() -> None:
    queues = [queue("a", 2, borrowing={"gpus": 2}), queue("b", 8)]
    assert words(queues, ("one", "a", 3), ("two", "a", 2)) == {"one": "possible", "two": "possible"}


def test_too_many_workloads_to_follow_are_unknown_except_those_with_sufficient_quota() -> None:
    many = [(f"w{number}", "a", 1) for number in range(MOST_OF_COHORT)]
    output = words([queue("a", 4), queue("b", 4, reclaims="Any")], *many, ("own", "b", 4))
    assert output["own"] == "guaranteed"
    assert {word for name, word in output.items() if name != "own"} == {"unknown"}


def stack(**copies: int) -> dict[str, Any]:
    settings = fleet(
        {"h100": pool("hgx-h100-8", "h100")},
        claims={"gpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}},
        workloads={
            name: {"claim": "gpu", "copies": count, "queue": name.partition("-")[0]}
            for name, count in copies.items()
        },
    )
    settings["queues"] = {
        "version": "0.19.0",
        "deviceClassMappings": {"gpus": ["gpu.nvidia.com"]},
        "clusterQueues": {
            "a": {"cluster": "lab", "cohort": "all", "nominalQuota": {"gpus": 4}},
            "b": {
                "cluster": "lab",
                "cohort": "all",
                "nominalQuota": {"gpus": 4},
                "reclaimWithinCohort": "Any",
            },
        },
    }
    return settings


def test_devices_are_proved_for_what_runs_together_and_not_for_what_waits() -> None:
    proof = prove(plan_of(stack(**{"a-big": 6, "b-own": 4})))
    assert proof.failures == ()
    assert {item.name: item.word for item in proof.workloads} == {
        "a-big": "guaranteed",
        "b-own": "guaranteed",
    }
    assert proof.warnings == (
        (
            "cluster lab: workload a-big waits in its queue: "
            "it needs 6 gpus of queue a, and waits while b-own is running"
        ),
    )


def test_quotas_of_more_devices_than_the_pools_have_are_refused() -> None:
    settings = stack(**{"a-one": 6, "b-own": 6})
    for name in ("a", "b"):
        settings["queues"]["clusterQueues"][name]["nominalQuota"]["gpus"] = 6
    (output,) = prove(plan_of(settings)).failures
    assert "in every order some pod waits" in output
    assert "lower the quotas" in output


def test_a_gang_of_which_one_pod_finds_no_device_is_refused_though_it_has_quota() -> None:
    settings = stack(**{"a-big": 9})
    settings["queues"]["clusterQueues"]["a"]["nominalQuota"]["gpus"] = 9
    (output,) = prove(plan_of(settings)).failures
    assert "workloads.a-big: on cluster lab, never" in output


def test_the_proof_as_json_says_what_the_queue_does() -> None:
    output = prove(plan_of(stack(**{"a-big": 6, "b-own": 4}))).to_json()["workloads"][0]["admission"]
    assert output == {
        "queue": "a",
        "word": "never",
        "reason": "it needs 6 gpus of queue a, and waits while b-own is running",
    }
