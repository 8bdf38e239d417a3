"""Which changes replace an object."""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.diffing import changes
from dra_fleet.rehearsal.providers.kubernetes.replacing import replaces, replacing_fields


def replaced(old: dict[str, Any], new: dict[str, Any], *, mutable: bool = False) -> list[str]:
    fields = replacing_fields(new, mutable_data=mutable)
    return [str(change) for change in changes(old, new) if replaces(change.path, change.new, fields)]


def body(api_version: str, kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "n", "namespace": "s"}, **parts}


def test_another_name_or_namespace_is_another_object() -> None:
    old = body("v1", "Service")
    new = {**old, "metadata": {"name": "m", "namespace": "t"}}
    assert replaced(old, new) == ["metadata.name", "metadata.namespace"]


@pytest.mark.parametrize(
    ("api_version", "kind", "old", "new", "expected"),
    [
        ("batch/v1", "Job", {"template": {"a": 1}}, {"template": {"a": 2}}, ["spec.template.a"]),
        ("batch/v1", "Job", {"backoffLimit": 1}, {"backoffLimit": 2}, []),
        ("apps/v1", "DaemonSet", {"selector": {"x": 1}}, {"selector": {"x": 2}}, ["spec.selector.x"]),
        ("apps/v1", "DaemonSet", {"template": {"x": 1}}, {"template": {"x": 2}}, []),
        ("resource.k8s.io/v1", "ResourceClaimTemplate", {"spec": {"a": 1}}, {"spec": {"a": 2}}, []),
        (
            "v1",
            "Pod",
            {"containers": [{"image": "a", "x": 1}]},
            {"containers": [{"image": "b", "x": 2}]},
            ["spec.containers[0].image"],
        ),
    ],
)
def test_the_published_plugins_fields_replace_and_no_others(
    api_version: str, kind: str, old: dict[str, Any], new: dict[str, Any], expected: list[str]
) -> None:
    assert replaced(body(api_version, kind, spec=old), body(api_version, kind, spec=new)) == expected


def test_a_subtree_that_appears_replaces_only_with_such_a_field_inside() -> None:
    old = body("batch/v1", "Job")
    assert replaced(old, {**old, "spec": {"template": {}}}) == ["spec"]
    assert replaced(old, {**old, "spec": {"suspend": True}}) == []


def test_a_role_bindings_role_replaces_it() -> None:
    kind = ("rbac.authorization.k8s.io/v1", "RoleBinding")
    old, new = body(*kind, roleRef={"name": "a"}), body(*kind, roleRef={"name": "b"})
    assert replaced(old, new) == ["roleRef.name"]


def test_changed_data_replaces_unless_the_provider_says_mutable_and_the_object_does_not_say_immutable() -> (
    None
):
    old, new = body("v1", "ConfigMap", data={"a": "1"}), body("v1", "ConfigMap", data={"a": "2"})
    assert replaced(old, new) == ["data.a"]
    assert replaced(old, new, mutable=True) == []
    assert replaced(old, {**new, "immutable": True}, mutable=True) == ["data.a"]
