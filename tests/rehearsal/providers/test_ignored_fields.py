"""A field that the program ignores and another field manager holds is left to its holder.

The published plugin's rule: pulumi-kubernetes, `handleSSAIgnoreFields` in `provider/pkg/await/await.go`.
"""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.applying import left_to_others

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
