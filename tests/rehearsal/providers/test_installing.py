import importlib.metadata
import stat
import sys
from pathlib import Path

from dra_fleet.rehearsal.providers import cloud_plugin, install, install_kubernetes


def fake_program(directory: Path, name: str, script: str) -> Path:
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_a_simulated_plugin_is_installed_once_and_renewed_when_the_interpreter_changes(
    tmp_path: Path,
) -> None:
    plugin = cloud_plugin("aks")
    install(tmp_path, Path(sys.executable), plugin)
    program = tmp_path / "plugins" / plugin.directory / plugin.executable
    assert program.stat().st_mode & stat.S_IXUSR
    written = program.stat().st_mtime_ns
    install(tmp_path, Path(sys.executable), plugin)
    assert program.stat().st_mtime_ns == written
    install(tmp_path, Path("/other/python"), plugin)
    assert "/other/python" in program.read_text()
    assert [entry.name for entry in (tmp_path / "plugins").iterdir()] == [plugin.directory]


def test_a_published_plugin_of_a_cloud_is_never_replaced(tmp_path: Path) -> None:
    plugin = cloud_plugin("aks")
    published = tmp_path / "plugins" / plugin.directory
    published.mkdir(parents=True)
    install(tmp_path, Path(sys.executable), plugin)
    assert list(published.iterdir()) == []


def test_the_kubernetes_provider_follows_the_tools(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    old = plugins / f"resource-kubernetes-v{importlib.metadata.version('pulumi-kubernetes')}"
    old.mkdir(parents=True)
    (old / "pulumi-resource-kubernetes").write_text("#!/bin/sh\n")
    for name in ("first", "second", "second"):
        program = fake_program(tmp_path / name, "pulumi-resource-kubernetes", f"echo {name}")
        install_kubernetes(tmp_path, program)
        assert (old / "pulumi-resource-kubernetes").resolve() == program
        assert [entry.name for entry in plugins.iterdir()] == [old.name]
