"""Differences between an object as it is and as the program wants it."""

from __future__ import annotations

from typing import Any

from dra_fleet.rehearsal.providers.kubernetes.diffing import changes, inputs_of, pruned, real_changes, wanted
from dra_fleet.rehearsal.providers.properties import UNKNOWN


def named(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(change), change.kind.value) for change in changes(old, new)]


def test_each_changed_field_is_named_with_its_place() -> None:
    old = {"a": {"b": 1}, "list": [{"c": 1}, {"c": 2}], "gone": 1, "same": [1]}
    new = {"a": {"b": 2}, "list": [{"c": 1}, {"c": 3}, {"c": 4}], "x.y/z": True, "same": [1]}
    assert named(old, new) == [
        ("a.b", "update"),
        ("gone", "delete"),
        ("list[1].c", "update"),
        ("list[2]", "add"),
        ('["x.y/z"]', "add"),
    ]


def test_a_value_not_yet_known_is_a_change_and_true_is_not_one() -> None:
    assert named({"a": 1}, {"a": UNKNOWN}) == [("a", "update")]
    assert named({"a": 1}, {"a": True}) == [("a", "update")]
    assert named({"a": 1}, {"a": 1.0}) == []


def test_only_what_the_program_declares_counts() -> None:
    live = {"spec": {"replicas": 1, "added": True, "list": [{"a": 1, "b": 2}, {"extra": 1}]}, "status": {}}
    shape = {"spec": {"replicas": 5, "list": [{"a": 0}], "dropped": 1}}
    assert pruned(live, shape) == {"spec": {"replicas": 1, "list": [{"a": 1}, {"extra": 1}]}}


def test_a_change_that_a_dry_run_does_not_confirm_is_none() -> None:
    live = {"limits": {"cpu": "1"}, "kept": 1}
    found = changes(
        {"limits": {"cpu": "1"}, "kept": 1}, {"limits": {"cpu": "1000m"}, "dropped": {}, "kept": 2}
    )
    confirmed = real_changes(found, live, {"limits": {"cpu": "1"}, "kept": 2})
    assert [str(change) for change in confirmed] == ["kept"]


def test_a_field_that_the_server_drops_is_a_change_in_every_preview() -> None:
    """As with v4 of the published plugin, whose diff is between what was sent and the object without it."""
    live: dict[str, Any] = {"spec": {"selectors": []}}
    found = changes(live, {"spec": {"selectors": [], "extendedResourceName": "example.com/gpu"}})
    assert [str(change) for change in real_changes(found, live, live)] == ["spec.extendedResourceName"]


def test_the_texts_of_a_secret_become_its_data_and_read_only_fields_are_not_sent() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "uid": "1", "resourceVersion": "2"},
        "stringData": {"a": "x", "later": UNKNOWN},
        "data": {"b": "eQ=="},
    }
    sent = wanted(secret)
    assert sent["metadata"] == {"name": "s"}
    assert sent["data"] == {"b": "eQ==", "a": "eA==", "later": UNKNOWN}
    assert "stringData" not in sent


def test_an_imported_object_needs_no_status_as_input() -> None:
    live = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "1"},
        "spec": {},
        "status": {},
    }
    assert inputs_of(live) == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
