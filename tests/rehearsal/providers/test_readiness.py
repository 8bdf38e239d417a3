"""When an object counts as ready."""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.readiness import pod_trouble, readiness


def body(api_version: str, kind: str, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"generation": 2},
        "spec": spec,
        "status": status,
    }


def daemon_set(**status: int) -> dict[str, Any]:
    return body("apps/v1", "DaemonSet", {}, {"observedGeneration": 2, **status})


def test_a_daemon_set_wanted_on_no_node_is_ready() -> None:
    assert readiness(daemon_set(desiredNumberScheduled=0)).ready


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"observedGeneration": 1}, "its controller has not seen the latest change yet"),
        ({"desiredNumberScheduled": 2, "updatedNumberScheduled": 1}, "1 of 2 nodes run its latest pods"),
        (
            {
                "desiredNumberScheduled": 2,
                "updatedNumberScheduled": 2,
                "numberReady": 2,
                "numberAvailable": 1,
            },
            "1 of 2 pods are ready",
        ),
    ],
)
def test_a_daemon_set_says_what_it_waits_for(status: dict[str, int], reason: str) -> None:
    now = readiness(daemon_set(**status))
    assert (now.ready, now.hopeless, now.reason) == (False, False, reason)


def test_a_deployment_whose_progress_deadline_passed_is_hopeless() -> None:
    condition = {"type": "Progressing", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
    now = readiness(body("apps/v1", "Deployment", {}, {"observedGeneration": 2, "conditions": [condition]}))
    assert (now.hopeless, now.reason) == (True, "timed out")


def test_a_job_is_ready_when_complete_waited_for_when_suspended_and_hopeless_when_failed() -> None:
    def job(kind: str, **spec: Any) -> dict[str, Any]:
        condition = {"type": kind, "status": "True", "reason": "R", "message": "M"}
        return body("batch/v1", "Job", spec, {"conditions": [condition]})

    assert readiness(job("Complete")).ready
    suspended = readiness(job("Other", suspend=True))
    assert (suspended.ready, suspended.hopeless) == (False, False)
    failed = readiness(job("Failed"))
    assert (failed.hopeless, failed.reason) == (True, "the Job failed: R: M")


def test_a_token_that_its_controller_writes_is_waited_for() -> None:
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {}}
    token = {**secret, "type": "kubernetes.io/service-account-token"}
    assert readiness(secret).ready
    assert not readiness(token).ready
    assert readiness({**token, "data": {"token": "eA=="}}).ready


def test_a_kind_without_a_rule_is_ready_as_soon_as_it_exists() -> None:
    assert readiness(body("resource.k8s.io/v1", "DeviceClass", {}, {})).ready


def test_a_pods_trouble_is_its_container_before_its_conditions() -> None:
    conditions = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}
    ]
    waiting = {"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no image"}}}
    pod: dict[str, Any] = {"status": {"conditions": conditions, "containerStatuses": [waiting]}}
    assert pod_trouble(pod) == "container main: ImagePullBackOff: no image"
    del pod["status"]["containerStatuses"]
    assert pod_trouble(pod) == "Unschedulable: no node"
