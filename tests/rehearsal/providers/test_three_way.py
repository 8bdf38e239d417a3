"""The patch of a client-side apply: what the program takes back goes, what others wrote stays."""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.three_way import Merging, UnkeyedItemError, three_way

SCHEMAS: dict[str, Any] = {
    "Pod": {
        "properties": {
            "containers": {
                "items": {"allOf": [{"$ref": "#/components/schemas/Container"}]},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            },
            "finalizers": {"items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "strategy": {
                "allOf": [{"$ref": "#/components/schemas/Strategy"}],
                "x-kubernetes-patch-strategy": "retainKeys",
            },
            "volumes": {
                "items": {"$ref": "#/components/schemas/Volume"},
                "x-kubernetes-patch-strategy": "merge,retainKeys",
                "x-kubernetes-patch-merge-key": "name",
            },
            "args": {"items": {"type": "string"}},
        }
    },
    "Container": {
        "properties": {
            "env": {
                "items": {"properties": {}},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            }
        }
    },
    "Strategy": {"properties": {}},
    "Volume": {"properties": {}},
}
STRATEGIC = Merging(SCHEMAS, SCHEMAS["Pod"])
PLAIN = Merging({}, {})


def container(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, **fields}


@pytest.mark.parametrize(
    ("last", "new", "live", "patch"),
    [
        pytest.param({}, {"a": 1}, {"a": 1, "theirs": 2}, {}, id="nothing"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 1, "theirs": 2}, {"a": 2}, id="changed"),
        pytest.param({"a": 1}, {"a": 1}, {"a": 3}, {"a": 1}, id="drifted"),
        pytest.param({"a": 1, "b": 1}, {"b": 1}, {"a": 1, "b": 1, "theirs": 2}, {"a": None}, id="taken-back"),
        pytest.param(
            {"m": {"a": 1, "b": 1}}, {"m": {"b": 2}}, {"m": {"a": 1, "b": 1, "theirs": 1}},
            {"m": {"a": None, "b": 2}}, id="below",
        ),
        pytest.param({"args": ["a"]}, {"args": ["b"]}, {"args": ["a"]}, {"args": ["b"]}, id="whole-list"),
    ],
)  # fmt: skip
def test_fields_are_merged_three_ways(last: Any, new: Any, live: Any, patch: Any) -> None:
    assert three_way(last, new, live, PLAIN) == patch
    assert three_way(last, new, live, STRATEGIC) == patch


def test_items_of_a_list_with_a_key_are_merged_one_by_one() -> None:
    last = {"containers": [container("main", image="a:1"), container("old", image="o:1")]}
    new = {"containers": [container("main", image="a:2"), container("more", image="m:1")]}
    live = {
        "containers": [
            container("injected", image="i:1"),
            container("main", image="a:1", imagePullPolicy="Always"),
            container("old", image="o:1"),
        ]
    }
    assert three_way(last, new, live, STRATEGIC) == {
        "containers": [
            {"name": "main", "image": "a:2"},
            {"name": "more", "image": "m:1"},
            {"$patch": "delete", "name": "old"},
        ],
        "$setElementOrder/containers": [{"name": "main"}, {"name": "more"}],
    }
    assert three_way(last, new, live, PLAIN) == new


def test_lists_inside_items_are_merged_too() -> None:
    def pod(**variables: str) -> dict[str, Any]:
        env = [{"name": name, "value": value} for name, value in variables.items()]
        return {"containers": [container("main", env=env)]}

    assert three_way(pod(A="1"), pod(A="2"), pod(A="1", THEIRS="1"), STRATEGIC) == {
        "containers": [
            {
                "name": "main",
                "env": [{"name": "A", "value": "2"}],
                "$setElementOrder/env": [{"name": "A"}],
            }
        ],
        "$setElementOrder/containers": [{"name": "main"}],
    }


def test_plain_values_of_a_merged_list_come_and_go_alone() -> None:
    assert three_way(
        {"finalizers": ["x/a"]}, {"finalizers": ["x/b"]}, {"finalizers": ["y/theirs", "x/a"]}, STRATEGIC
    ) == {
        "finalizers": ["x/b"],
        "$deleteFromPrimitiveList/finalizers": ["x/a"],
        "$setElementOrder/finalizers": ["x/b"],
    }


def test_another_order_alone_is_a_change() -> None:
    one, two = container("one"), container("two")
    assert three_way(
        {"containers": [one, two]}, {"containers": [two, one]}, {"containers": [one, two]}, STRATEGIC
    ) == {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]}


def test_keys_that_exclude_one_another_leave_with_the_change() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    assert three_way({}, {"strategy": {"type": "Recreate"}}, {"strategy": rolling}, STRATEGIC) == {
        "strategy": {"type": "Recreate", "$retainKeys": ["type"]}
    }
    empty: dict[str, Any] = {"name": "v", "emptyDir": {}}
    host = {"name": "v", "hostPath": {"path": "/"}}
    assert three_way({"volumes": [empty]}, {"volumes": [host]}, {"volumes": [empty]}, STRATEGIC) == {
        "volumes": [{**host, "emptyDir": None, "$retainKeys": ["hostPath", "name"]}],
        "$setElementOrder/volumes": [{"name": "v"}],
    }


def test_an_item_without_the_key_cannot_be_merged() -> None:
    with pytest.raises(UnkeyedItemError, match="name"):
        three_way({}, {"containers": [{"image": "a"}]}, {"containers": []}, STRATEGIC)
