"""Install the Kubernetes provider: the published plugin, or the simulated one."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

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
