"""Patch resources through the real engine, the stand-in plugin and a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.rehearsal.providers.test_engine_objects import as_admin

if TYPE_CHECKING:
    from tests.engine_support import SimulatedCluster
    from tests.rehearsal.providers.tiny_project import TinyProject

pytestmark = pytest.mark.engine

PATCH = "core/v1:ConfigMapPatch"


def fields(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


def data_of(cluster: SimulatedCluster, name: str) -> dict[str, str]:
    return as_admin(cluster, lambda api: api.get("v1", "ConfigMap", name, "default"))["data"]


def test_a_patch_sets_its_fields_and_gives_them_back(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    as_admin(cluster, lambda api: api.apply(fields(unique, theirs="1"), manager="somebody"))
    project.declare("patch", PATCH, fields(unique, ours="1"))

    assert project.preview().code == 0
    made = project.up()
    assert made.code == 0, made.output
    assert data_of(cluster, unique) == {"theirs": "1", "ours": "1"}
    assert project.up("--expect-no-changes").code == 0
    assert project.refresh("--expect-no-changes").code == 0

    project.declare("patch", PATCH, fields(unique, more="2"))
    changed = project.up()
    assert (changed.code, changed.count("updated")) == (0, 1), changed.output
    assert data_of(cluster, unique) == {"theirs": "1", "more": "2"}

    removed = project.destroy()
    assert removed.code == 0, removed.output
    assert data_of(cluster, unique) == {"theirs": "1"}


def test_a_patch_takes_a_field_of_somebody_else_only_if_the_program_says_so(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    as_admin(cluster, lambda api: api.apply(fields(unique, shared="1"), manager="kubectl"))
    project.declare("patch", PATCH, fields(unique, shared="2"))
    preview = project.preview()
    assert preview.code != 0
    assert 'conflict with "kubectl"' in preview.output

    forced = fields(unique, shared="2")
    forced["metadata"]["annotations"] = {"pulumi.com/patchForce": "true"}
    project.declare("patch", PATCH, forced)
    assert project.up().code == 0
    assert data_of(cluster, unique) == {"shared": "2"}


def test_a_patch_names_its_object(project: TinyProject) -> None:
    project.declare("patch", PATCH, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}})
    preview = project.preview()
    assert preview.code != 0
    assert "patch resources require the resource `.metadata.name` to be set" in preview.output
