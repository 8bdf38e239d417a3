"""Helm releases through the real engine, the stand-in plugin, the real helm and a real API server."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.engine_support import SimulatedCluster
    from tests.rehearsal.providers.tiny_project import TinyProject

pytestmark = pytest.mark.engine

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "global": {},
        "node": {"type": "string"},
        "missing": {"type": "integer"},
        "password": {"type": "string"},
        "note": {"type": ["string", "null"]},
    },
}
TEMPLATES = """
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
stringData: {password: {{ .Values.password | quote }}, note: {{ .Values.note | default "none" | quote }}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: {{ .Release.Name }}}
spec:
  updateStrategy:
    rollingUpdate: {maxUnavailable: {{ .Values.missing }}, maxSurge: {{ sub 1 .Values.missing }}}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      nodeSelector: {kubernetes.io/hostname: {{ .Values.node | quote }}}
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/none:1"}]
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart with a secret, a DaemonSet and a schema of its values."""
    chart = tmp_path / "charts" / "tiny"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: tiny\nversion: 1.2.3\n")
    (chart / "values.yaml").write_text("node: nowhere\npassword: none\nnote: from the chart\nmissing: 0\n")
    (chart / "values.schema.json").write_text(json.dumps(SCHEMA))
    (chart / "templates/all.yaml").write_text(TEMPLATES)
    return chart


@pytest.fixture
def node(cluster: SimulatedCluster, unique: str) -> Iterator[str]:
    """A node nobody runs pods on. Yields its name."""
    name = f"node-{unique}"
    labels = {"kubernetes.io/hostname": name}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}

    async def make() -> None:
        async with cluster.admin() as api:
            await api.create(node)

    async def remove() -> None:
        async with cluster.admin() as api:
            await api.delete("v1", "Node", name)

    asyncio.run(make())
    yield name
    asyncio.run(remove())


def declare(project: TinyProject, chart: Path, values: dict[str, Any], **more: Any) -> None:
    options = more.pop("options", {})
    properties = {"chart": str(chart), "namespace": "default", "values": values, **more}
    project.declare("tiny", "helm.sh/v3:Release", properties, **options)


def release_secret(cluster: SimulatedCluster, name: str) -> dict[str, Any] | None:
    async def read() -> dict[str, Any] | None:
        async with cluster.admin() as api:
            return await api.find("v1", "Secret", name, "default")

    return asyncio.run(read())


def test_a_release_is_installed_left_alone_upgraded_read_and_uninstalled(
    project: TinyProject, cluster: SimulatedCluster, chart: Path
) -> None:
    word = "hunter2-of-the-releases"
    values = {"password": {"$secret": word}, "note": None}
    declare(project, chart, values, allowNullValues=True)
    first = project.up()
    assert first.code == 0, first.output
    outputs = project.state("tiny")["outputs"]
    name = outputs["status"]["name"]
    assert name.startswith("tiny-")
    assert outputs["status"] | {"revision": 1, "status": "deployed", "version": "1.2.3"} == outputs["status"]
    assert outputs["resourceNames"] == {"DaemonSet.apps/apps/v1": [name], "Secret/v1": [name]}
    assert word not in project.state_text
    assert word not in first.output
    live = release_secret(cluster, name)
    assert live is not None
    assert live["data"]["note"] == "bm9uZQ=="  # the null took the chart's default away

    assert project.up("--expect-no-changes").code == 0
    assert project.refresh("--expect-no-changes").code == 0

    declare(project, chart, values)  # without allowNullValues a null says nothing
    upgraded = project.up()
    assert upgraded.count("updated") == 1, upgraded.output
    assert project.state("tiny")["outputs"]["status"]["revision"] == 2
    live = release_secret(cluster, name)
    assert live is not None
    assert live["data"]["note"] == "ZnJvbSB0aGUgY2hhcnQ="

    assert project.destroy().code == 0
    assert release_secret(cluster, name) is None


def test_a_release_that_is_there_is_not_taken_over_but_can_be_imported(
    project: TinyProject, chart: Path, unique: str
) -> None:
    declare(project, chart, {"note": "kept"}, name=unique, version="1.2.3")
    assert project.up().code == 0
    identifier = project.state("tiny")["id"]
    urn = project.state("tiny")["urn"]
    assert project.pulumi("state", "delete", urn, "--yes").code == 0

    refused = project.up()
    assert refused.code != 0
    assert f'release "{identifier}" already exists (revision 1, deployed); import it' in refused.output

    options = {"import_": identifier}
    declare(project, chart, {"note": "kept"}, name=unique, version="1.2.3", options=options)
    imported = project.up()
    assert imported.code == 0, imported.output
    assert imported.count("imported") == 1
    assert project.destroy().code == 0


def test_a_value_the_chart_does_not_know_fails_the_preview(project: TinyProject, chart: Path) -> None:
    declare(project, chart, {"nodes": "x"})
    preview = project.preview()
    assert preview.code != 0
    assert "additional properties 'nodes' not allowed" in preview.output


def test_an_option_a_release_does_not_have_is_named(project: TinyProject, chart: Path) -> None:
    declare(project, chart, {}, atomicc=True)
    preview = project.preview()
    assert preview.code != 0
    assert "no option of a Release; allowed: allowNullValues, atomic, chart" in preview.output


def test_a_release_that_fails_stays_with_its_reasons_and_its_cure_is_an_upgrade(
    project: TinyProject, chart: Path, node: str
) -> None:
    declare(project, chart, {"node": node}, timeout=3)
    failed = project.up()
    assert failed.code != 0
    assert "is on the cluster but failed" in failed.output
    assert "0 of 1 pods are ready" in failed.output
    before = project.state("tiny")["outputs"]["status"]
    assert (before["revision"], before["status"]) == (1, "failed")

    declare(project, chart, {"node": "nowhere"})
    cured = project.up()
    assert cured.code == 0, cured.output
    assert cured.count("updated") == 1
    after = project.state("tiny")["outputs"]["status"]
    assert (after["name"], after["revision"], after["status"]) == (before["name"], 2, "deployed")
    assert project.destroy().code == 0


def test_a_daemon_set_may_miss_as_many_pods_as_its_strategy_says(
    project: TinyProject, chart: Path, node: str
) -> None:
    """As Helm 3 counts: https://github.com/helm/helm/blob/v3.19.0/pkg/kube/ready.go (daemonSetReady)."""
    declare(project, chart, {"node": node, "missing": 1}, timeout=30)
    assert project.up().code == 0
    assert project.state("tiny")["outputs"]["status"]["status"] == "deployed"
    assert project.destroy().code == 0


def test_an_atomic_release_that_fails_leaves_nothing(project: TinyProject, chart: Path, node: str) -> None:
    declare(project, chart, {"node": node}, timeout=3, atomic=True, name=node)
    failed = project.up()
    assert failed.code != 0
    assert project.state("tiny") == {}
    declare(project, chart, {}, name=node)
    assert project.up().code == 0
    assert project.destroy().code == 0


def test_unknown_chart_version_is_refused_with_the_available_versions(
    project: TinyProject,
) -> None:
    reference = "oci://registry.invalid/charts/dra-driver-nvidia-gpu"
    project.declare("tiny", "helm.sh/v3:Release", {"chart": reference, "version": "9.9.9", "values": {}})
    preview = project.preview()
    assert preview.code != 0
    assert f"chart {reference} 9.9.9 is not available here" in preview.output
    assert "available: 0.4.0, 0.4.1, 0.5.0" in preview.output
