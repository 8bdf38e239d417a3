"""Situations of an AKS cluster: refusals, kills, upgrades, and a state without secrets."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

NAME = "aks-variation"
CLUSTER = "azure-native:containerservice:ManagedCluster"


def stack_file(files: Path, *, kubernetes: str = "1.36", aks: Mapping[str, Any] | None = None) -> Path:
    """A stack of one cluster with one pool of two vGPUs, and what the simulated Azure has to give."""
    fleet = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": kubernetes,
        "clusters": {
            "desk": {
                "cloud": "aks",
                "region": "westeurope",
                "create": {"resourceGroup": "desk"},
                "access": {"private": True},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {"sixth": {"machine": "Standard_NV6ads_A10_v5", "nodes": {"min": 2, "max": 2}}},
            }
        },
        "claims": {"vgpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}},
        "workloads": {"notebooks": {"cluster": "desk", "claim": "vgpu", "copies": 2}},
    }
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    yaml = YAML(typ="safe", pure=True)
    file = files / f"{NAME}.yaml"
    yaml.dump({"config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    (files / "hardware").mkdir(exist_ok=True)
    hardware = {"clusters": {}, "aks": aks or {}}
    yaml.dump(hardware, files / "hardware" / f"{NAME}.yaml")  # pyright: ignore[reportUnknownMemberType]
    return file


def kill_simulator(rehearsed: Rehearsed) -> None:
    """End the simulator without a chance to tidy up; its control planes go on."""
    for process in psutil.process_iter(["cmdline"]):
        words: list[str] = process.info["cmdline"] or []
        if "dra_fleet.rehearsal.simulator" in words and str(rehearsed.home) in words:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            return
    pytest.fail("no simulator runs for this home")


@pytest.mark.parametrize(
    ("limits", "output"),
    [
        (
            {"quotas": {"standardNVADSA10v5Family": 6}},
            "Insufficient vcpu quota requested 12, remaining 6 for family standardNVADSA10v5Family",
        ),
        (
            {"stockOuts": ["Standard_NV6ads_A10_v5"]},
            "We do not have sufficient capacity for the requested VM size Standard_NV6ads_A10_v5",
        ),
    ],
)
def test_rejects_machines_that_the_hardware_file_excludes_with_azure_s_message(
    own_rehearsed: Rehearsed, limits: dict[str, Any], output: str
) -> None:
    up = own_rehearsed.run("rehearse", "up", str(stack_file(own_rehearsed.files, aks=limits)))
    assert up.code == 1
    assert output in up.err


def test_a_killed_simulator_loses_nothing_and_the_state_holds_no_secret(own_rehearsed: Rehearsed) -> None:
    file = stack_file(own_rehearsed.files)
    first = own_rehearsed.run("rehearse", "up", str(file), "--json")
    assert first.code == 0, first.err
    state = own_rehearsed.state(NAME)
    for mark in (aks_token(own_rehearsed.home), "PRIVATE KEY", "certificate-authority-data", "kubelogin"):
        assert mark not in state

    kill_simulator(own_rehearsed)
    again = own_rehearsed.run("rehearse", "up", str(file), "--json")

    assert again.code == 0, again.err
    assert again.json["changes"] == 0
    assert again.json["clusters"] == first.json["clusters"]


def aks_token(home: Path) -> str:
    """The token that every login of the simulated tenant gets."""
    [database] = home.rglob("*.db")
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as store:
        query = "SELECT content FROM cloud_setting WHERE cloud = 'aks' AND name = 'credential'"
        return str(json.loads(store.execute(query).fetchone()[0])["token"])


def test_a_simulator_killed_while_a_cluster_is_made_is_taken_up_again(own_rehearsed: Rehearsed) -> None:
    file = stack_file(own_rehearsed.files)
    started = own_rehearsed.start("rehearse", "up", str(file))
    events = own_rehearsed.home / "engine.jsonl"
    own_rehearsed.until(
        started, "the cluster is being made", lambda: events.exists() and CLUSTER in events.read_text()
    )
    kill_simulator(own_rehearsed)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()

    again = own_rehearsed.run("rehearse", "up", str(file), "--json")

    assert again.code == 0, again.err
    assert again.json["all_allocated"] is True


def test_a_control_plane_is_upgraded_in_place_and_never_taken_back(own_rehearsed: Rehearsed) -> None:
    old = own_rehearsed.run(
        "rehearse", "up", str(stack_file(own_rehearsed.files, kubernetes="1.34")), "--json"
    )
    assert old.code == 0, old.err
    before = old.json["clusters"]["desk"]

    new = own_rehearsed.run(
        "rehearse", "up", str(stack_file(own_rehearsed.files, kubernetes="1.35")), "--json"
    )

    assert new.code == 0, new.err
    after = new.json["clusters"]["desk"]
    assert (before["kubernetes"], after["kubernetes"]) == ("v1.34.9", "v1.35.6")
    assert after["workloads"] == before["workloads"]
    back = own_rehearsed.run("rehearse", "up", str(stack_file(own_rehearsed.files, kubernetes="1.34")))
    assert back.code == 1
    assert "Upgrading Kubernetes version 1.35.6 to 1.34.9 is not allowed" in back.err
