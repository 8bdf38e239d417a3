import importlib.metadata
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_fleet.rehearsal.providers import cloud_plugin, install, install_kubernetes
from dra_fleet.rehearsal.providers.properties import (
    UNKNOWN,
    SecretValue,
    decode,
    encode,
    has_unknown,
    plain,
    secret_texts,
    with_secrets_of,
    without_nulls,
)

SCALARS = st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS | st.just(UNKNOWN),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | inner.map(SecretValue)
    ),
    max_leaves=10,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])  # measures the machine
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_encoded_values_decode_to_the_same(properties: dict[str, Any]) -> None:
    assert decode(encode(properties)) == properties


def test_whole_numbers_come_back_as_integers() -> None:
    decoded = decode(encode({"replicas": 3.0, "ratio": 0.5, "on": True}))
    assert [type(value) for value in decoded.values()] == [int, float, bool]


def test_an_unknown_is_found_inside_a_secret() -> None:
    assert has_unknown({"a": [SecretValue({"b": UNKNOWN})]})


def test_marks_are_carried_to_a_plain_copy_and_whole_lists_become_secret() -> None:
    marked: dict[str, Any] = {"a": SecretValue("x"), "list": [{"b": SecretValue("y")}], "plain": 1}
    value: dict[str, Any] = {**plain(marked), "added": True}
    again = with_secrets_of(value, marked)
    assert again == {"a": SecretValue("x"), "list": SecretValue([{"b": "y"}]), "plain": 1, "added": True}


def test_nulls_say_nothing_at_any_depth() -> None:
    assert without_nulls({"a": None, "b": [{"c": None, "d": 1}]}) == {"b": [{"d": 1}]}


def test_every_secret_text_is_found() -> None:
    assert secret_texts({"a": SecretValue({"b": ["x", 1]}), "c": "open", "d": [SecretValue("y")]}) == {
        "x",
        "y",
    }


def test_a_secret_never_shows_itself() -> None:
    assert "hunter2" not in repr({"password": SecretValue("hunter2")})


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
