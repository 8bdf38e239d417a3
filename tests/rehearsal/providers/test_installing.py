"""Plugins and charts: the published ones where the network has them, else what stands in."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from dra_fleet.rehearsal.charts import ChartUnavailableError, resolve, stand_in_versions, stand_ins
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.providers import install, kubernetes_served_by

PLUGIN = "plugins/resource-kubernetes-v4.34.2"
EXECUTABLE = f"{PLUGIN}/pulumi-resource-kubernetes"


def fake_program(directory: Path, name: str, script: str) -> Path:
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_the_stand_in_is_installed_once_and_renewed_when_the_interpreter_changes(tmp_path: Path) -> None:
    install(tmp_path, Path(sys.executable))
    program = tmp_path / EXECUTABLE
    assert program.stat().st_mode & stat.S_IXUSR
    written = program.stat().st_mtime_ns
    install(tmp_path, Path(sys.executable))
    assert program.stat().st_mtime_ns == written
    install(tmp_path, Path("/other/python"))
    assert "/other/python" in program.read_text()
    assert [entry.name for entry in (tmp_path / "plugins").iterdir()] == [Path(PLUGIN).name]


def test_a_published_plugin_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / PLUGIN).mkdir(parents=True)
    install(tmp_path, Path(sys.executable))
    assert not (tmp_path / EXECUTABLE).exists()
    assert kubernetes_served_by(tmp_path) == "published"


def test_the_published_plugin_takes_the_place_of_the_stand_in_and_stays(tmp_path: Path) -> None:
    install(tmp_path, Path(sys.executable))
    assert kubernetes_served_by(tmp_path) == "stand-in"
    published = fake_program(tmp_path / "released", "pulumi-resource-kubernetes", "echo published")
    install(tmp_path, Path(sys.executable), published=published)
    install(tmp_path, Path(sys.executable))
    assert kubernetes_served_by(tmp_path) == "published"
    assert (tmp_path / EXECUTABLE).read_text() == published.read_text()
    assert os.access(tmp_path / EXECUTABLE, os.X_OK)
    assert [entry.name for entry in (tmp_path / "plugins").iterdir()] == [Path(PLUGIN).name]


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose helm is refused by the network and writes down that it was asked."""
    asked = tmp_path / "asked"
    fake_program(tmp_path / "bin", "helm", f'echo x >> "{asked}"; echo "Error: no such host" >&2; exit 1')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("DRA_FLEET_HOME", str(tmp_path / "home"))
    return asked


REFERENCE = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"


def test_a_chart_the_network_refuses_has_its_stand_in_and_is_asked_for_once(offline: Path) -> None:
    expected = stand_ins()["dra-driver-nvidia-gpu", "0.5.0"]
    assert resolve(REFERENCE, "0.5.0", None) == expected
    assert resolve(REFERENCE, "0.5.0", None) == expected
    assert offline.read_text().count("x") == 1


def test_without_helm_the_network_is_asked_later(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = stand_ins()["dra-driver-nvidia-gpu", "0.5.0"]
    with monkeypatch.context() as without_helm:
        without_helm.setenv("PATH", "/nowhere")
        assert resolve(REFERENCE, "0.5.0", None) == expected
    resolve(REFERENCE, "0.5.0", None)
    assert offline.read_text().count("x") == 1


def test_what_is_kept_lies_in_a_home_that_a_rehearsal_can_use(offline: Path, tmp_path: Path) -> None:
    del offline
    home = Home.at(tmp_path / "another")
    resolve(REFERENCE, "0.5.0", None, home=home)
    assert list((home.root / "charts").glob("*.refused"))
    home.create()
    assert not Home.default().root.exists()


def test_a_version_without_a_stand_in_is_refused_with_those_there_are(offline: Path) -> None:
    del offline
    with pytest.raises(ChartUnavailableError) as refused:
        resolve(REFERENCE, "9.9.9", None)
    versions = ", ".join(stand_in_versions("dra-driver-nvidia-gpu"))
    assert str(refused.value) == (
        f"chart {REFERENCE} 9.9.9 cannot be pulled (no such host); versions that have a stand-in: {versions}"
    )


def test_a_pulled_chart_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'for last; do :; done; echo chart > "$last/some-1.0.0.tgz"'
    fake_program(tmp_path / "bin", "helm", script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("DRA_FLEET_HOME", str(tmp_path / "home"))
    archive = resolve("some", "1.0.0", "https://charts.example.com")
    fake_program(tmp_path / "bin", "helm", "exit 1")
    assert resolve("some", "1.0.0", "https://charts.example.com") == archive
    assert archive.read_text() == "chart\n"


def test_a_chart_in_a_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    assert resolve(str(tmp_path), None, None) == tmp_path.resolve()
