import base64
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.core.declared.resources import Resource
from dra_fleet.policy import pack
from dra_fleet.policy.checking import check

RELEASE = "kubernetes:helm.sh/v3:Release"
HELM_CHART = "kubernetes:helm.cattle.io/v1:HelmChart"
UNREAD = "type-report-unread"
TWICE = "node-limit-advertisers"
CHART = "name: app\nversion: 1.0.0\n"
DRIVER = Resource(
    type=RELEASE,
    name="driver",
    urn="urn:pulumi:dev::other::kubernetes:helm.sh/v3:Release::driver",
    read=lambda: {"chart": "dra-driver-nvidia-gpu", "version": "0.5.0", "namespace": "gpu"},
)
DAEMON_SET = """
{{- define "app.labels" }}
app: {{ .Chart.Name }}
{{- end }}
{{- if .Values.plugin.enabled }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "app.labels" . | nindent 4 }}
spec:
  template:
    spec:
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: plugin
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
{{- end }}
"""
VALUES = "plugin: {enabled: true}\nimage: {repository: nvcr.io/nvidia/k8s-device-plugin}\n"
FILES = {"Chart.yaml": CHART, "values.yaml": VALUES, "templates/plugin.yaml": DAEMON_SET}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def packed(files: dict[str, str], name: str = "app") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


def release(type_: str = RELEASE, **properties: Any) -> Resource:
    urn = f"urn:pulumi:dev::other::{type_}::app"
    return Resource(type=type_, name="app", urn=urn, read=lambda: properties)


def found(resource: Resource) -> dict[str, str]:
    """The rules that find something in a chart beside the DRA driver of NVIDIA, with a message of each."""
    program = [DRIVER, resource]
    violations = [each for rule in pack.RULES for each in check(rule, program, rule.settings({}))]
    return {each.rule.name: each.message for each in violations if each.urn == resource.urn}


def as_folder(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    write(folder / "charts" / "app", files)
    return {"chart": "./charts/app"}


def as_folder_without_dot(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    return {**as_folder(folder, files), "chart": "charts/app"}


def as_archive(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    (folder / "app-1.0.0.tgz").write_bytes(packed(files))
    return {"chart": "app-1.0.0.tgz"}


def as_vendored_folder(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    inside = {f"charts/app/{path}": text for path, text in files.items()}
    return as_folder(folder, {"Chart.yaml": "name: outer\nversion: 1.0.0\n", **inside})


def as_vendored_archive(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    asked = as_folder(folder, {"Chart.yaml": "name: outer\nversion: 1.0.0\n", "charts/README.md": ""})
    (folder / "charts" / "app" / "charts" / "app-1.0.0.tgz").write_bytes(packed(files))
    return asked


@pytest.mark.parametrize(
    "form", [as_folder, as_folder_without_dot, as_archive, as_vendored_folder, as_vendored_archive]
)
def test_a_device_plugin_of_a_chart_s_own_templates_is_found(
    form: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = found(release(**form(tmp_path, FILES)))[TWICE]
    assert "templates/plugin.yaml.spec.template.spec.containers[0].image" in message


def test_values_decide_what_a_template_makes(tmp_path: Path) -> None:
    chart = str(write(tmp_path / "app", FILES))
    assert found(release(chart=chart, values={"plugin": {"enabled": False}})) == {}
    assert found(release(chart=chart, values={"image": {"repository": "nginx"}})) == {}
    assert TWICE in found(release(chart=chart, values={"nodeSelector": {"pool": "gpus"}}))


DEPENDENCY = (
    "name: outer\nversion: 1.0.0\ndependencies:\n"
    "  - {name: nvidia-device-plugin, version: 0.18.0, condition: gpus.enabled, tags: [devices]}\n"
)


@pytest.mark.parametrize(
    ("values", "installs"),
    [
        ({}, True),
        ({"gpus": {"enabled": True}, "tags": {"devices": False}}, True),
        ({"gpus": {"enabled": False}}, False),
        ({"tags": {"devices": False}}, False),
        ({"tags": {"devices": True}}, True),
    ],
)
def test_a_conditional_sub_chart_counts_if_its_condition_holds(
    values: dict[str, Any], installs: bool, tmp_path: Path
) -> None:
    chart = str(write(tmp_path / "app", {"Chart.yaml": DEPENDENCY}))
    assert (TWICE in found(release(chart=chart, values=values))) is installs


def test_an_umbrella_s_own_values_reach_its_sub_charts(tmp_path: Path) -> None:
    metadata = "name: outer\nversion: 1.0.0\ndependencies: [{name: dra-driver-nvidia-gpu, version: 0.5.0}]\n"
    gates = "dra-driver-nvidia-gpu: {featureGates: {DynamicMIG: true, PassthroughSupport: true}}\n"
    chart = str(write(tmp_path / "app", {"Chart.yaml": metadata, "values.yaml": gates}))
    assert "chart-forbid-gate-conflicts" in found(release(chart=chart, namespace="gpu"))


def test_a_chart_inside_of_k_3_s_s_object_is_opened_and_its_set_values_count() -> None:
    content = base64.b64encode(packed(FILES)).decode()
    assert TWICE in found(release(HELM_CHART, spec={"chartContent": content}))
    off = found(release(HELM_CHART, spec={"chartContent": content, "set": {"plugin.enabled": "false"}}))
    assert TWICE not in off


@pytest.mark.parametrize(
    ("type_", "properties"),
    [
        (RELEASE, {"chart": "oci://reg.example/mirror/nvidia-device-plugin:0.18.0"}),
        ("kubernetes:source.toolkit.fluxcd.io/v1:OCIRepository", {
            "spec": {"url": "oci://reg.example/mirror/nvidia-device-plugin", "ref": {"tag": "0.18.0"}}
        }),
        ("kubernetes:argoproj.io/v1alpha1:Application", {
            "spec": {"source": {
                "repoURL": "oci://reg.example/mirror/nvidia-device-plugin",
                "path": ".", "targetRevision": "0.18.0",
            }}
        }),
    ],
)  # fmt: skip
def test_an_oci_address_names_its_chart(type_: str, properties: dict[str, Any]) -> None:
    assert TWICE in found(release(type_, **properties))


@pytest.mark.parametrize("place", ["manifests", "text"])
def test_a_manifest_among_values_counts_as_an_object(place: str) -> None:
    pods = {"containers": [{"name": "p", "image": "nvcr.io/nvidia/k8s-device-plugin:v1"}]}
    manifest = {"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"template": {"spec": pods}}}
    values: dict[str, Any] = {"extraObjects": [manifest]}
    if place == "text":
        lines = (
            "apiVersion: apps/v1", "kind: DaemonSet", "spec: {template: {spec: {containers: [",
            "  {name: p, image: 'nvcr.io/nvidia/k8s-device-plugin:v1'}]}}}",
        )  # fmt: skip
        values = {"extraDeploy": "\n".join(lines)}
    assert TWICE in found(release(chart="grafana", version="1.0.0", values=values))


def test_a_chart_of_the_program_that_is_not_at_hand_is_reported(tmp_path: Path) -> None:
    assert "not at hand" in found(release(chart=str(tmp_path / "none")))[UNREAD]
    chart = str(write(tmp_path / "app", {"Chart.yaml": CHART, "templates/a.yaml": "{{ .x }}: [nvidia\n"}))
    assert UNREAD in found(release(chart=chart))
    ordinary = str(write(tmp_path / "web", {"Chart.yaml": CHART, "templates/a.yaml": "{{ .x }}: [nginx\n"}))
    assert found(release(chart=ordinary)) == {}


@pytest.mark.parametrize("damage", ["nothing", "text", "half"])
def test_a_damaged_archive_is_not_at_hand(damage: str, tmp_path: Path) -> None:
    whole = packed(FILES)
    data = {"nothing": b"", "text": b"no archive", "half": whole[: len(whole) // 2]}[damage]
    (tmp_path / "app.tgz").write_bytes(data)
    assert UNREAD in found(release(chart=str(tmp_path / "app.tgz")))
