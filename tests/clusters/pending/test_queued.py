from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_fleet.clusters.pending import Cause, explain_queued
from tests.clusters.pending.test_explain import STATE

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.clusters.pending import WaitingReason


def output(**conditions: str) -> WaitingReason | None:
    """Return the reason for a workload whose Kueue object has conditions of these statuses."""
    item: Object = {
        "metadata": {"namespace": "ns", "name": "job-sweep", "labels": {"dra-fleet/workload": "sweep"}},
        "status": {
            "conditions": [
                {"type": kind, "status": status, "message": "insufficient unused quota"}
                for kind, status in conditions.items()
            ]
        },
    }
    return explain_queued(replace(STATE, queued=(item,)), "sweep", "ns", "batch")


def test_a_workload_without_quota_waits_in_its_queue() -> None:
    reason = output(QuotaReserved="False")
    assert reason is not None
    assert reason.cause is Cause.QUEUED
    assert str(reason) == "it waits in queue batch: insufficient unused quota"


def test_nothing_is_said_of_one_that_has_quota_has_ended_or_was_not_checked_yet() -> None:
    assert output(QuotaReserved="True") is None
    assert output(QuotaReserved="False", Finished="True") is None
    assert output() is None
