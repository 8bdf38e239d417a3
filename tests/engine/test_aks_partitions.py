"""A partitioned pool of AKS: a node that joins later, and what the state of its stack holds."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Self

import pytest
from ruamel.yaml import YAML

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

NAME = "partitions"
STATE = "nvidia.com/mig.config.state"
DRIVER = "gpu.nvidia.com"
ENCRYPTED = ("4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270")
"""Marks of a secret in the engine's state: github.com/pulumi/pulumi, sdk/go/common/resource/sig/sig.go."""


def stack_file(files: Path, *, nodes: int) -> Path:
    """A stack of one pool of A100, each cut in seven, all of them in use."""
    pool = {
        "machine": "Standard_NC24ads_A100_v4",
        "nodes": {"min": nodes, "max": nodes},
        "gpuDriver": "operator",
        "taints": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}],
        "sharing": {"strategy": "mig", "layout": {"1g.10gb": 7}},
    }
    fleet = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            "cut": {
                "cloud": "aks",
                "region": "eastus",
                "create": {"resourceGroup": "cut"},
                "access": {"private": True},
                "gpuOperator": {"version": "v25.10.0"},
                "drivers": {"nvidia": {"version": "25.8.1"}},
                "pools": {"mig": pool},
            }
        },
        "classes": {"part": {"driver": "nvidia", "type": "mig", "profile": "1g.10gb"}},
        "claims": {"part": {"requests": {"gpu": {"class": "part"}}}},
        "workloads": {"serve": {"cluster": "cut", "claim": "part", "copies": 7 * nodes}},
    }
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    file = files / f"{NAME}.yaml"
    YAML(typ="safe", pure=True).dump({"config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    return file


class Watched(threading.Thread):
    """Everything that was ever published and reported, from a moment on, by a watch of the real API server.

    Attributes:
        types: by node the types of the devices published for it, in their order.
        states: by node what the MIG manager reported, in its order.
    """

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__()
        self._config = read_kubeconfig(str(kubeconfig))
        self._loop = asyncio.new_event_loop()
        self._began, self._end = threading.Event(), asyncio.Event()
        self.types: defaultdict[str, list[str]] = defaultdict(list)
        self.states: defaultdict[str, list[str]] = defaultdict(list)

    def __enter__(self) -> Self:
        self.start()
        self._began.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self.join()

    def run(self) -> None:
        self._loop.run_until_complete(self._watch())

    async def _watch(self) -> None:
        async with KubeApi.connect(self._config) as api:
            slices = await api.list("resource.k8s.io/v1", "ResourceSlice")
            nodes = await api.list("v1", "Node")
            following = [
                asyncio.ensure_future(self._follow(api, "resource.k8s.io/v1", "ResourceSlice", slices)),
                asyncio.ensure_future(self._follow(api, "v1", "Node", nodes)),
            ]
            self._began.set()
            await self._end.wait()
            for one in following:
                one.cancel()
            ended = await asyncio.gather(*following, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in ended), ended

    async def _follow(self, api: KubeApi, api_version: str, kind: str, listed: dict[str, Any]) -> None:
        version = listed["metadata"]["resourceVersion"]
        async for event, item in api.watch(api_version, kind, resource_version=version):
            if event == "DELETED":
                continue
            if kind == "Node":
                _append(self.states[item["metadata"]["name"]], item["metadata"]["labels"].get(STATE))
            elif item["spec"]["driver"] == DRIVER:
                for device in item["spec"].get("devices", []):
                    _append(self.types[item["spec"]["nodeName"]], device["attributes"]["type"]["string"])


def _append(output: list[str], word: str | None) -> None:
    if word is not None and output[-1:] != [word]:
        output.append(word)


def test_a_node_that_joins_later_never_publishes_a_whole_gpu(rehearsed: Rehearsed) -> None:
    first = rehearsed.run("rehearse", "up", str(stack_file(rehearsed.files, nodes=1)), "--json")
    assert first.code == 0, first.err
    assert first.json["clusters"]["cut"]["pools"]["mig"]["devices"] == 7

    with Watched(rehearsed.home / "clusters" / "cut" / "admin.kubeconfig") as seen:
        more = rehearsed.run("rehearse", "up", str(stack_file(rehearsed.files, nodes=2)), "--json")

    assert more.code == 0, more.err
    shown = more.json["clusters"]["cut"]
    assert (shown["pools"]["mig"]["nodes"], shown["pools"]["mig"]["devices"]) == (2, 14)
    assert shown["workloads"]["serve"]["allocated"] == 14
    [joined] = [node for node, states in seen.states.items() if states != ["success"]]
    assert seen.states[joined] == ["pending", "rebooting", "pending", "success"]
    assert seen.types[joined] == ["mig"]
    assert {kind for kinds in seen.types.values() for kind in kinds} == {"mig"}


def test_the_exported_state_of_a_partitioned_stack_holds_no_secret(rehearsed: Rehearsed) -> None:
    up = rehearsed.run("rehearse", "up", str(stack_file(rehearsed.files, nodes=1)), "--json")
    assert up.code == 0, up.err

    exported = rehearsed.shell(f"pulumi stack export --stack {NAME}")

    assert exported.code == 0, exported.err
    resources = json.loads(exported.out)["deployment"]["resources"]
    [provider] = [item for item in resources if item["type"] == "pulumi:providers:kubernetes"]
    assert ENCRYPTED in provider["inputs"]["kubeconfig"].items()
    keys = secrets_of(rehearsed.home)
    assert len(keys) > 1
    for mark in (*keys, "PRIVATE KEY", "certificate-authority-data", "current-context", "kubelogin"):
        assert mark not in exported.out


def secrets_of(home: Path) -> list[str]:
    """The token of every login, and a line of every private key of the simulated clusters."""
    [database] = home.rglob("*.db")
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as store:
        query = "SELECT content FROM cloud_setting WHERE cloud = 'aks' AND name = 'credential'"
        token = str(json.loads(store.execute(query).fetchone()[0])["token"])
    return [token, *(file.read_text().splitlines()[1] for file in (home / "clusters").rglob("*.key"))]
