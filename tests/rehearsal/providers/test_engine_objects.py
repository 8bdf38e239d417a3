"""Objects through the real engine, the stand-in plugin and a real API server."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from dra_fleet.clusters.client import MERGE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dra_fleet.clusters.client import KubeApi
    from tests.engine_support import SimulatedCluster
    from tests.rehearsal.providers.tiny_project import TinyProject

pytestmark = pytest.mark.engine
Result = TypeVar("Result")


def as_admin(cluster: SimulatedCluster, work: Callable[[KubeApi], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with cluster.admin() as api:
            return await work(api)

    return asyncio.run(run())


def device_class(name: str, expression: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def declare_class(project: TinyProject, name: str, expression: str, **options: Any) -> None:
    project.declare("class", "resource.k8s.io/v1:DeviceClass", device_class(name, expression), **options)


def declare_template(
    project: TinyProject, count: int, metadata: dict[str, Any] | None = None, **options: Any
) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "any", "count": count}}
    project.declare(
        "template",
        "resource.k8s.io/v1:ResourceClaimTemplate",
        {"metadata": metadata, "spec": {"spec": {"devices": {"requests": [request]}}}},
        **options,
    )


def test_objects_are_created_left_alone_updated_and_deleted(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    declare_class(project, unique, "device.driver == 'a'")
    project.declare("space", "core/v1:Namespace", {})

    first = project.up()
    assert first.code == 0, first.output
    made = project.state("space")["outputs"]["metadata"]
    assert made["name"].startswith("space-")
    assert len(made["name"]) == len("space-") + 8
    assert made["annotations"]["pulumi.com/autonamed"] == "true"

    again = project.up("--expect-no-changes")
    assert again.code == 0, again.output

    declare_class(project, unique, "device.driver == 'b'")
    changed = project.up()
    assert changed.count("updated") == 1, changed.output
    live = as_admin(cluster, lambda api: api.get("resource.k8s.io/v1", "DeviceClass", unique))
    assert live["spec"]["selectors"][0]["cel"]["expression"] == "device.driver == 'b'"
    assert project.state("space")["outputs"]["metadata"]["name"] == made["name"]

    removed = project.destroy()
    assert removed.code == 0, removed.output
    assert as_admin(cluster, lambda api: api.find("resource.k8s.io/v1", "DeviceClass", unique)) is None
    assert as_admin(cluster, lambda api: api.find("v1", "Namespace", made["name"])) is None


def test_a_wrong_expression_fails_the_preview_in_the_servers_words(project: TinyProject, unique: str) -> None:
    declare_class(project, unique, "device.driver ==")
    preview = project.preview()
    assert preview.code != 0
    assert (
        f'DeviceClass.resource.k8s.io "{unique}" is invalid: spec.selectors[0].cel.expression'
        in preview.output
    )
    assert "Traceback" not in preview.output


def test_an_object_that_exists_already_is_not_taken_over(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    as_admin(cluster, lambda api: api.create(device_class(unique, "true")))
    declare_class(project, unique, "false")
    run = project.up()
    assert run.code != 0
    expected = (
        'resource "class" was not successfully created by the Kubernetes API server: '
        f'deviceclasses.resource.k8s.io "{unique}" already exists'
    )
    assert expected in run.output

    imported = {"import_": unique}
    declare_class(project, unique, "true", **imported)
    taken = project.up()
    assert taken.code == 0, taken.output
    assert taken.count("imported") == 1


def test_a_changed_template_fails_its_preview_unless_the_program_asks_for_a_replacement(
    project: TinyProject,
) -> None:
    declare_template(project, 1)
    assert project.up().code == 0
    before = project.state("template")["id"]

    declare_template(project, 2)
    preview = project.preview()
    assert preview.code != 0
    assert "field is immutable" in preview.output

    declare_template(project, 2, replace_on_changes=["spec"])
    assert project.preview().code == 0
    replaced = project.up()
    assert replaced.code == 0, replaced.output
    assert replaced.count("replaced") == 1
    assert project.state("template")["id"] != before
    assert project.destroy().code == 0


def test_what_others_changed_shows_in_a_refresh_and_is_put_right(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    declare_class(project, unique, "device.driver == 'a'")
    project.declare("gone", "core/v1:ConfigMap", {"metadata": {"namespace": "default"}, "data": {"a": "1"}})
    assert project.up().code == 0
    other = device_class(unique, "device.driver == 'other'")

    async def drift(api: KubeApi) -> None:
        path = f"/apis/resource.k8s.io/v1/deviceclasses/{unique}"
        manager = {"fieldManager": "kubectl-edit"}
        await api.request("PATCH", path, body={"spec": other["spec"]}, params=manager, content_type=MERGE)
        await api.delete("v1", "ConfigMap", project.state("gone")["outputs"]["metadata"]["name"], "default")

    as_admin(cluster, drift)
    found = project.pulumi("refresh", "--preview-only", "--expect-no-changes", "--diff")
    assert found.code != 0
    assert "device.driver == 'other'" in found.output

    refreshed = project.refresh()
    assert refreshed.code == 0, refreshed.output
    repaired = project.up()
    assert repaired.code == 0, repaired.output
    assert (repaired.count("updated"), repaired.count("created")) == (1, 1)
    live = as_admin(cluster, lambda api: api.get("resource.k8s.io/v1", "DeviceClass", unique))
    assert live["spec"]["selectors"][0]["cel"]["expression"] == "device.driver == 'a'"


def test_a_delete_waits_for_finalizers_and_names_them_when_the_time_is_up(
    project: TinyProject, cluster: SimulatedCluster
) -> None:
    held = {"metadata": {"namespace": "default", "finalizers": ["example.com/held"]}, "data": {}}
    project.declare("held", "core/v1:ConfigMap", held, custom_timeouts={"delete": "2s"})
    assert project.up().code == 0
    name = project.state("held")["outputs"]["metadata"]["name"]

    run = project.destroy()
    assert run.code != 0
    message = (
        f'ConfigMap "default/{name}" is marked for deletion but still there after 2 s, '
        "held by its finalizers: example.com/held"
    )
    assert message in run.output

    released: dict[str, Any] = {"metadata": {"finalizers": None}}
    as_admin(cluster, lambda api: api.merge("v1", "ConfigMap", name, released, namespace="default"))
    assert project.destroy().code == 0


def test_secret_data_is_never_in_the_state_in_clear(project: TinyProject, cluster: SimulatedCluster) -> None:
    text = "hunter2-of-the-tests"
    project.declare(
        "secret",
        "core/v1:Secret",
        {"metadata": {"namespace": "default"}, "stringData": {"password": {"$secret": text}}},
    )
    run = project.up()
    assert run.code == 0, run.output
    encoded = project.state("secret")["outputs"]["data"]
    assert encoded  # the state has it, encrypted
    for clear in (text, "aHVudGVyMi1vZi10aGUtdGVzdHM=", "client-key-data", cluster.server):
        assert clear not in project.state_text
    assert project.up("--expect-no-changes").code == 0
    assert project.refresh("--expect-no-changes").code == 0


def test_what_a_secret_holds_is_secret_whatever_the_program_says(project: TinyProject) -> None:
    project.declare("open", "core/v1:Secret", {"metadata": {"namespace": "default"}, "data": {"a": "aGk="}})
    assert project.up().code == 0
    exported = json.loads(project.pulumi("stack", "export").output)
    (found,) = [item for item in exported["deployment"]["resources"] if item["urn"].endswith("::open")]
    assert "ciphertext" in found["outputs"]["data"]
    assert project.up("--expect-no-changes").code == 0


def test_a_refused_secret_value_is_kept_out_of_the_message(project: TinyProject, unique: str) -> None:
    word = "Not-A-Label-Value!"
    labels = {"word": {"$secret": word}}
    project.declare("space", "core/v1:Namespace", {"metadata": {"name": unique, "labels": labels}})
    run = project.up()
    assert run.code != 0
    assert "metadata.labels" in run.output
    assert word not in run.output
