"""Whose fields are left, and whose are taken over.

The published plugin's rules: pulumi-kubernetes, `handleSSAIgnoreFields` and `fixCSAFieldManagers` in
`provider/pkg/await/await.go`.
"""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.applying import left_to_others, taken_over

BODY: dict[str, Any] = {"kind": "Deployment", "spec": {"replicas": 2, "paused": False}}


def live(manager: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"metadata": {"managedFields": [{"manager": manager, "fieldsV1": fields, **more}]}}


SCALED = live("kube-controller-manager", {"f:spec": {"f:replicas": {}}})


def test_an_autoscaler_s_replicas_are_not_sent() -> None:
    sent = left_to_others(BODY, SCALED, "ours", ["spec.replicas"])
    assert sent == {"kind": "Deployment", "spec": {"paused": False}}
    assert BODY["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("found", "ignored"),
    [
        (SCALED, []),
        (SCALED, ["spec.paused"]),
        (SCALED, ["spec.template"]),
        (live("ours", {"f:spec": {"f:replicas": {}}}), ["spec.replicas"]),
        (live("kubelet", {"f:spec": {"f:replicas": {}}}, subresource="status"), ["spec.replicas"]),
        ({"metadata": {}}, ["spec.replicas"]),
    ],
)
def test_everything_else_is_sent(found: dict[str, Any], ignored: list[str]) -> None:
    assert left_to_others(BODY, found, "ours", ignored) == BODY


def test_fields_of_client_side_applies_become_ours_and_others_stay_theirs() -> None:
    def entry(manager: str, operation: str, *fields: str, **more: str) -> dict[str, Any]:
        own: dict[str, Any] = {f"f:{field}": {} for field in fields}
        return {"manager": manager, "operation": operation, "fieldsV1": {"f:spec": own}, **more}

    status = entry("kubectl", "Update", "a", subresource="status")
    others = [entry("other", "Apply", "b"), entry("kubelet", "Update", "c"), status]
    fields = [
        entry("ours", "Apply", "d"),
        *others,
        entry("kubectl-client-side-apply", "Update", "e"),
        entry("pulumi-kubernetes", "Update", "d", "f"),
    ]
    found = taken_over({"metadata": {"managedFields": fields}}, "ours")
    assert found == [*others, entry("ours", "Apply", "d", "e", "f")]
    assert taken_over({"metadata": {"managedFields": others}}, "ours") is None
