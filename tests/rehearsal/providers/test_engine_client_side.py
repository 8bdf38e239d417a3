"""The provider's `enableServerSideApply: false` and `renderYamlToDirectory` on the real engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dra_fleet.clusters.client import MERGE
from tests.rehearsal.providers.test_engine_objects import as_admin

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi
    from tests.engine_support import SimulatedCluster
    from tests.rehearsal.providers.tiny_project import TinyProject

pytestmark = pytest.mark.engine


def deployment(name: str, image: str, *, replicas: int = 0, **variables: str) -> dict[str, Any]:
    env = [{"name": key, "value": value} for key, value in variables.items()]
    labels = {"matchLabels": {"app": name}}
    pod = {"containers": [{"name": "main", "image": image, "env": env}]}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": labels,
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def definition(kind: str, *, column: str) -> dict[str, Any]:
    group = "example.com"
    schema = {"openAPIV3Schema": {"type": "object", "x_kubernetes_preserve_unknown_fields": True}}
    columns = [{"name": column, "type": "string", "jsonPath": ".spec.a"}]
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "metadata": {"name": f"{kind}s.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind.capitalize(), "plural": f"{kind}s"},
            "scope": "Namespaced",
            "versions": [{**version, "additionalPrinterColumns": columns}],
        },
    }


def live(cluster: SimulatedCluster, api_version: str, kind: str, name: str) -> dict[str, Any]:
    namespace = None if kind == "CustomResourceDefinition" else "default"
    return as_admin(cluster, lambda api: api.get(api_version, kind, name, namespace))


def containers(cluster: SimulatedCluster, name: str) -> dict[str, dict[str, Any]]:
    pod = live(cluster, "apps/v1", "Deployment", name)["spec"]["template"]["spec"]
    return {item["name"]: item for item in pod["containers"]}


def test_a_client_side_apply_merges_three_ways_and_server_side_apply_takes_over(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    kind = f"thing{unique}"
    project.providers["lab"]["enableServerSideApply"] = False
    project.declare("web", "apps/v1:Deployment", deployment(unique, "a:1", A="1", B="1"))
    project.declare(
        "made", "core/v1:ConfigMap", {"metadata": {"generateName": "made-", "namespace": "default"}}
    )
    crd = "apiextensions.k8s.io/v1:CustomResourceDefinition"
    project.declare("definition", crd, definition(kind, column="One"))
    of = {"example.com/of": {"$name": "definition"}}
    metadata = {"name": unique, "namespace": "default", "annotations": of}
    custom = {"metadata": metadata, "spec": {"list": [1, 2]}}
    thing = f"example.com/v1:{kind.capitalize()}"
    project.declare("thing", thing, custom)
    assert project.preview().code == 0
    made = project.up()
    assert made.code == 0, made.output
    web = live(cluster, "apps/v1", "Deployment", unique)
    assert web["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "pulumi"}
    managers = [(entry["manager"], entry["operation"]) for entry in web["metadata"]["managedFields"]]
    assert ("pulumi-kubernetes", "Update") in managers
    name = project.state("made")["outputs"]["metadata"]["name"]
    assert name.startswith("made-")
    assert project.up("--expect-no-changes").code == 0

    async def others(api: KubeApi) -> None:
        added = [{"name": "side", "image": "s:1"}, *web["spec"]["template"]["spec"]["containers"]]
        patch = {"spec": {"template": {"spec": {"containers": added}}}}
        path = f"/apis/apps/v1/namespaces/default/deployments/{unique}"
        await api.request("PATCH", path, body=patch, content_type=MERGE)

    as_admin(cluster, others)
    project.declare("web", "apps/v1:Deployment", deployment(unique, "a:2", A="2"))
    project.declare("definition", crd, definition(kind, column="Two"))
    project.declare("thing", thing, {**custom, "spec": {"list": [2]}})
    assert project.preview().count("to update") == 3
    changed = project.up()
    assert (changed.code, changed.count("updated")) == (0, 3), changed.output
    found = containers(cluster, unique)
    assert (found["main"]["image"], found["side"]["image"]) == ("a:2", "s:1")
    assert found["main"]["env"] == [{"name": "A", "value": "2"}]
    assert live(cluster, "example.com/v1", kind.capitalize(), unique)["spec"] == {"list": [2]}
    (version,) = live(cluster, "apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{kind}s.example.com")[
        "spec"
    ]["versions"]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == ["Two"]
    assert project.state("made")["outputs"]["metadata"]["name"] == name

    del project.resources["made"]
    project.providers["lab"]["enableServerSideApply"] = True
    project.declare("web", "apps/v1:Deployment", deployment(unique, "a:3"))
    taken = project.up()
    assert taken.code == 0, taken.output
    main = containers(cluster, unique)["main"]
    assert (main["image"], main.get("env")) == ("a:3", None)
    fields = live(cluster, "apps/v1", "Deployment", unique)["metadata"]["managedFields"]
    assert ("pulumi-kubernetes", "Update") not in {(entry["manager"], entry["operation"]) for entry in fields}
    assert project.destroy().code == 0


def test_a_client_side_apply_refuses_what_is_there_already_and_patches(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    there = {"metadata": {"name": unique, "namespace": "default"}, "data": {"a": "1"}}
    as_admin(cluster, lambda api: api.create({"apiVersion": "v1", "kind": "ConfigMap", **there}))
    project.providers["lab"]["enableServerSideApply"] = False
    project.declare("mine", "core/v1:ConfigMap", there)
    refused = project.up()
    assert refused.code != 0
    assert f'configmaps "{unique}" already exists' in refused.output

    del project.resources["mine"]
    project.declare("patch", "core/v1:ConfigMapPatch", {"apiVersion": "v1", "kind": "ConfigMap", **there})
    patch = project.preview()
    assert patch.code != 0
    assert "patch resources require Server-Side Apply mode" in patch.output


def test_yaml_is_rendered_to_a_directory_without_a_cluster(project: TinyProject) -> None:
    project.providers["lab"] = {"renderYamlToDirectory": "out"}
    out = project.directory / "out"
    secret = {"metadata": {"name": "s"}, "stringData": {"a": {"$secret": "x"}}}
    project.declare("secret", "core/v1:Secret", secret)
    project.declare("web", "apps/v1:Deployment", deployment("web", "a:1", A="1"))
    project.declare(
        "definition",
        "apiextensions.k8s.io/v1:CustomResourceDefinition",
        definition("thing", column="One"),
    )
    preview = project.preview()
    assert preview.code == 0, preview.output
    assert not out.exists()
    made = project.up()
    assert made.code == 0, made.output
    file = "1-manifest/apps_v1-deployment-default-web.yaml"
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.yaml")) == [
        "0-crd/apiextensions.k8s.io_v1-customresourcedefinition-default-things.example.com.yaml",
        file,
        "1-manifest/v1-secret-default-s.yaml",
    ]
    assert "v1-secret-default-s.yaml contains a secret value in plaintext" in made.output
    assert {path.stat().st_mode & 0o777 for path in out.rglob("*.yaml")} == {0o600}
    written = yaml.safe_load((out / file).read_text())
    assert written == {"apiVersion": "apps/v1", "kind": "Deployment", **deployment("web", "a:1", A="1")}
    assert project.up("--expect-no-changes").code == 0

    project.declare("web", "apps/v1:Deployment", deployment("web", "a:2"))
    assert project.up().count("updated") == 1
    (container,) = yaml.safe_load((out / file).read_text())["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["env"]) == ("a:2", [])
    assert project.refresh().code != 0
    assert project.destroy().code == 0
    assert list(out.rglob("*.yaml")) == []
