"""The events of a refresh: what was changed or deleted by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dra_fleet.core.findings.engine_events import SECRET, SIGNATURE
from dra_fleet.review.drift import Difference, read_refresh
from dra_fleet.review.errors import ReviewError

URN = "urn:pulumi:prod::fleet::azure-native:containerservice:AgentPool::studio-a100"
TYPE = "azure-native:containerservice:AgentPool"


def event(operation: str, old: dict[str, Any], new: dict[str, Any] | None, *paths: str) -> str:
    metadata = {
        "op": operation,
        "urn": URN,
        "type": TYPE,
        "old": {"id": "a100", "inputs": old, "outputs": {**old, "provisioningState": "Succeeded"}},
        "new": new and {"id": "a100", "inputs": new, "outputs": {**new, "provisioningState": "Updating"}},
        "detailedDiff": {path: {"diffKind": "update"} for path in paths},
    }
    return json.dumps({"sequence": 1, "resOutputsEvent": {"metadata": metadata}})


def test_changed_properties_have_the_declared_and_the_found_value() -> None:
    line = event("update", {"count": 2, "nodeTaints": ["a"]}, {"count": 5, "nodeTaints": ["a"]}, "count")
    (found,) = read_refresh([line], "events").drifted
    assert (found.kind, found.id, found.change) == ("AgentPool", "a100", "changed")
    assert found.differences == (Difference(path="count", declared="2", found="5"),)


def test_a_difference_of_outputs_alone_is_shown_from_the_outputs() -> None:
    line = event("update", {"count": 2}, {"count": 2}, "provisioningState")
    (found,) = read_refresh([line], "events").drifted
    assert found.differences == (
        Difference(path="provisioningState", declared="Succeeded", found="Updating"),
    )


def test_a_deleted_resource_has_no_differences() -> None:
    (found,) = read_refresh([event("delete", {"count": 2}, None)], "events").drifted
    assert (found.change, found.differences) == ("deleted", ())


@pytest.mark.parametrize("operation", ["same", "refresh", "read"])
def test_other_steps_are_no_drift(operation: str) -> None:
    assert read_refresh([event(operation, {"count": 2}, {"count": 2})], "events").drifted == []


def test_secrets_are_masked() -> None:
    old = {"adminPassword": "one", "key": {SIGNATURE: SECRET, "ciphertext": "x"}}
    line = event("update", old, {"adminPassword": "two", "key": "clear"}, "adminPassword", "key")
    (found,) = read_refresh([line], "events").drifted
    assert {item.declared for item in found.differences} == {"[secret]"}
    assert {item.found for item in found.differences} == {"[secret]"}


def test_text_that_is_no_event_is_an_error() -> None:
    with pytest.raises(ReviewError, match="events, line 1"):
        read_refresh(["error: no stack"], "events")
