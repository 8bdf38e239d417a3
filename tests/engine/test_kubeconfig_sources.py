"""A stack whose clusters take their kubeconfigs from a file, a secret and another team's stack, rehearsed.

Its fleet is in a separate file, because it is too long for the engine to pass to a program.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.stack_copy import SALT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Finished, Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

OTHER_SALT = "v1:AAAAAAAAAAA=:v1:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
OTHER_SECRET = {"secure": "v1:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="}
"""Encrypted with a passphrase that no one here has, as the secrets of a real stack are."""
SOURCES = {
    "by-file": {"file": "/nowhere/kubeconfig", "context": "admin@prod"},
    "by-secret": {"secret": "labKubeconfig"},
    "by-stack": {"stack": "acme/infra/prod", "output": "edgeKubeconfig"},
    "by-key": {"stack": "acme/infra/prod", "output": "kubeconfigs", "key": "shared"},
}
SELECTOR = f"device.driver == 'gpu.example.com' && device.driver != '{'x' * 9_000}'"
LONG = {f"long-{number}": {"cel": [SELECTOR]} for number in range(15)}
"""Classes that take more than the 128 KiB that Linux allows in one variable of the environment."""
KUBECONFIG_MARKS = ("certificate-authority-data", "current-context", "dra-fleet-token", "eyJhbGciOi")


def stack_file(directory: Path) -> Path:
    """One small cluster for each source, as a team that owns real ones has them."""
    pool = {
        "machine": "cpu-16",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "cpu"},
    }
    clusters = {
        name: {
            "cloud": "existing",
            "kubeconfig": source,
            "drivers": {"example": {"version": "0.4.0"}},
            "pools": {"cpu": pool},
        }
        for name, source in SOURCES.items()
    }
    fleet = {
        "owner": "ml-platform",
        "environment": "staging",
        "kubernetes": "1.36",
        "clusters": clusters,
        "classes": {"some": {"driver": "example", "type": "gpu"}, **LONG},
        "claims": {"single": {"requests": {"gpu": {"class": "some"}}}},
        "workloads": {name: {"cluster": name, "claim": "single", "copies": 2} for name in SOURCES},
    }
    config = {
        "pulumi:disable-default-providers": ["*"],
        "dra-fleet:fleet": {"extends": "fleets/sources.yaml"},
        "dra-fleet:labKubeconfig": OTHER_SECRET,
    }
    node = {"name": "cpu", "machine": "cpu-16", "labels": {"example.com/pool": "cpu"}}
    hardware = {name: {"kubernetes": "v1.36.3", "nodes": [node]} for name in SOURCES}
    for folder in ("hardware", "fleets"):
        (directory / folder).mkdir(exist_ok=True)
    _dump({"clusters": hardware}, directory / "hardware" / "sources.yaml")
    _dump({"config": {"dra-fleet:fleet": fleet}}, directory / "fleets" / "sources.yaml")
    _dump({"encryptionsalt": OTHER_SALT, "config": config}, directory / "sources.yaml")
    return directory / "sources.yaml"


def _dump(value: dict[str, Any], file: Path) -> None:
    YAML(typ="safe", pure=True).dump(value, file)  # pyright: ignore[reportUnknownMemberType]


@pytest.fixture(scope="module")
def first(rehearsed: Rehearsed) -> Finished:
    return rehearsed.run("rehearse", "up", str(stack_file(rehearsed.files)), "--json")


def test_workloads_get_devices_with_every_source_of_a_kubeconfig(first: Finished) -> None:
    assert first.code == 0, first.err
    found = {name: cluster["workloads"] for name, cluster in first.json["clusters"].items()}
    assert {name: workloads[name]["allocated"] for name, workloads in found.items()} == dict.fromkeys(
        SOURCES, 2
    )


def test_a_second_time_nothing_changes_and_the_users_file_is_as_it_was(
    first: Finished, rehearsed: Rehearsed
) -> None:
    assert first.code == 0, first.err
    before = (rehearsed.files / "sources.yaml").read_text()

    again = rehearsed.run("rehearse", "up", str(rehearsed.files / "sources.yaml"), "--json")

    assert again.code == 0, again.err
    assert again.json["changes"] == 0
    assert (rehearsed.files / "sources.yaml").read_text() == before
    assert OTHER_SALT in before
    copied = rehearsed.home / "projects" / "dra-fleet" / "sources" / "Pulumi.sources.yaml"
    assert copied.stat().st_mode & 0o777 == 0o600
    assert f"encryptionsalt: {SALT}\n" in copied.read_text()


def test_no_state_holds_a_kubeconfig_in_clear(first: Finished, rehearsed: Rehearsed) -> None:
    assert first.code == 0, first.err

    states = sorted((rehearsed.home / "backend" / ".pulumi" / "stacks").rglob("*.json"))

    assert [file.relative_to(file.parents[1]).as_posix() for file in states] == [
        "dra-fleet/sources.json",
        "infra/prod.json",
    ]
    found = [(file.name, mark) for file in states for mark in KUBECONFIG_MARKS if mark in file.read_text()]
    assert found == []


def test_the_referenced_stack_exports_the_kubeconfig_of_each_cluster_alone(
    first: Finished, rehearsed: Rehearsed
) -> None:
    assert first.code == 0, first.err
    directory = rehearsed.home / "references" / "infra" / "prod"

    shown = rehearsed.shell(f"pulumi --cwd {directory} stack output --json --show-secrets --stack prod")

    assert shown.code == 0, shown.err
    exported = json.loads(shown.out)
    by_cluster = {"by-stack": exported["edgeKubeconfig"], "by-key": exported["kubeconfigs"]["shared"]}
    for name, text in by_cluster.items():
        kubeconfig: dict[str, Any] = YAML(typ="safe").load(text)  # pyright: ignore[reportUnknownMemberType]
        assert kubeconfig["current-context"] == name
        assert [item["name"] for item in kubeconfig["clusters"]] == [name]
