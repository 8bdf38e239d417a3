"""Drivers' own programs in a rehearsal: chosen by option, shown in the tables, ended with the rehearsal."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ruamel.yaml import YAML

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.drivers.example.simulation.node_side import recipes
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.tools import Toolset
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain
from tests.engine.rehearsed import PROJECT, Finished, Rehearsed

pytestmark = pytest.mark.engine

FLOOR = PROJECT / "examples" / "floor-1.34.yaml"
CAPACITY = PROJECT / "examples" / "any-gpu-by-memory.yaml"
WAITING = 3
HARDWARE = PROJECT / "examples" / "hardware" / "any-gpu-by-memory.yaml"
MACHINES = 3
"""In that file."""
COPIES = 9
GUARD = 300.0
"""Seconds after which a test gives up; no measure of anything."""


@pytest.fixture
def short(tools: Toolset) -> Iterator[Rehearsed]:
    """A home whose path is short enough for the sockets of drivers."""
    del tools
    with tempfile.TemporaryDirectory(prefix="own-") as folder:
        found = Rehearsed(home=Path(folder) / "home", files=Path(folder))
        yield found
        found.run("rehearse", "down", "--remove")


def made_up(folder: Path, how: str) -> Path:
    """A program that behaves in one way, whatever its flags are."""
    program = folder / how
    module = "tests.rehearsal.agent.made_up_driver"
    program.write_text(f"#!/bin/sh\nPYTHONPATH={PROJECT} exec {sys.executable} -m {module} {how}\n")
    program.chmod(0o755)
    return program


def working_in(home: Path) -> list[str]:
    """The command lines of what runs in a home's directories."""
    return [
        " ".join(item.info["cmdline"] or ()) for item in psutil.process_iter(["cmdline"]) if is_in(item, home)
    ]


def is_in(process: psutil.Process, home: Path) -> bool:
    """Return True if a process works in a home, or connects to a cluster of it."""
    try:
        return str(home) in f"{process.cwd()} {process.environ().get('KUBECONFIG')}"
    except psutil.Error:
        return False


def plugins_in(home: Path) -> list[psutil.Process]:
    """NVIDIA's own programs that run in a home."""
    return [
        item
        for item in psutil.process_iter(["name"])
        if item.info["name"] == "gpu-kubelet-plugin" and is_in(item, home)
    ]


def eventually(what: str, ask: Callable[[], Any]) -> Any:
    """Ask until the answer is true."""
    end = time.monotonic() + GUARD
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(0.5)
    raise AssertionError(f"{what}: not within {GUARD:.0f} s")


def not_started(rehearsed: Rehearsed, stack: Path) -> str:
    output: dict[str, Any] = rehearsed.ask("rehearse", "status", str(stack), "--json").json["clusters"]
    return " ".join(line for cluster in output.values() for line in cluster["plugins_not_started"])


@pytest.mark.full
def test_errors_of_a_program_by_path_are_named_and_nothing_of_it_stays(short: Rehearsed) -> None:
    def up(how: str) -> Finished:
        program = made_up(short.files, how)
        return short.run("rehearse", "up", str(FLOOR), "--drivers", f"example={program}", "--wait", "0")

    short.up(FLOOR)
    for how, words in {
        "crashes": "CrashLoopBackOff: back-off restarting failed container plugin: panic: out of luck",
        "silent": "plugin: it has made no socket to register with yet",
        "old": "plugin: it registers with v1alpha4.Node; this kubelet speaks v1.DRAPlugin",
        "other": "plugin: a plugin of this node registers as other.example.com, none as gpu.example.com",
    }.items():
        assert f"driver example 0.4.0: its own {how}" in " ".join(up(how).out.split())
        eventually(words, lambda words=words: words in not_started(short, FLOOR))
    assert working_in(short.home)
    short.run("rehearse", "down")
    assert working_in(short.home) == []


@pytest.mark.full
def test_the_example_drivers_own_program_by_path_serves_all_claims(short: Rehearsed) -> None:
    program = GoToolchain.find().build(recipes()["0.4.0"], Cache.default(), Silent())
    renamed = short.files / "unreleased"
    renamed.write_bytes(program.read_bytes())
    renamed.chmod(0o755)
    done = short.run("rehearse", "up", str(FLOOR), "--drivers", f"example={renamed}", "--json")
    assert done.code == 0, done.err
    assert done.json["drivers"] == {"example 0.4.0": str(renamed)}
    assert done.json["all_allocated"] is True


def claim_files(home: Path) -> list[Path]:
    """Return the CDI files of claims that drivers prepared."""
    return sorted(home.glob("clusters/*/nodes/*/cdi/*claim_*.yaml"))


def served_for_real(rehearsed: Rehearsed, stack: Path, hardware: Path | None = None) -> dict[str, Any]:
    """Rehearse a stack with drivers' own programs until all hold what they want."""
    options = ["--hardware", str(hardware)] if hardware else []
    done = rehearsed.run("rehearse", "up", str(stack), *options, "--drivers", "real", "--json")
    assert done.code == 0, done.err
    assert done.json["drivers"]["nvidia 0.5.0"].endswith("/gpu-kubelet-plugin")
    assert done.json["all_allocated"] is True
    return done.json


def survives_a_kill(rehearsed: Rehearsed, stack: Path, hardware: Path, nodes: int) -> None:
    """Kill the plugins of all nodes: others serve, and what was prepared stays."""
    files, plugins = claim_files(rehearsed.home), plugins_in(rehearsed.home)
    assert len(plugins) == nodes
    for plugin in plugins:
        plugin.kill()

    def others_serve() -> bool:
        return len(plugins_in(rehearsed.home)) == nodes and not any(item.is_running() for item in plugins)

    eventually("other processes serve", others_serve)
    asked = ["rehearse", "status", str(stack), "--hardware", str(hardware)]
    eventually("all devices are in use", lambda: rehearsed.ask(*asked).code == 0)
    assert claim_files(rehearsed.home) == files


def changed(rehearsed: Rehearsed, stack: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A stack's file with something changed."""
    yaml = YAML(typ="safe", pure=True)
    content: Any = yaml.load(stack)  # pyright: ignore[reportUnknownMemberType]
    change(content["config"]["dra-fleet:fleet"])
    file = rehearsed.files / stack.name
    yaml.dump(content, file)  # pyright: ignore[reportUnknownMemberType]
    return file


@pytest.mark.full
def test_nvidias_own_driver_serves_and_claims_survive_that_it_is_killed(short: Rehearsed) -> None:
    shown = served_for_real(short, CAPACITY)
    assert len(claim_files(short.home)) == shown["clusters"]["lab"]["workloads"]["train"]["wanted"]
    survives_a_kill(short, CAPACITY, HARDWARE, MACHINES)


@pytest.mark.full
def test_partitions_made_by_claims_survive_that_nvidias_own_driver_is_killed(short: Rehearsed) -> None:
    def on_demand(fleet: dict[str, Any]) -> None:
        fleet["clusters"]["lab"]["drivers"]["nvidia"]["values"] = {"featureGates": {"DynamicMIG": True}}
        fleet["classes"] = {"part": {"driver": "nvidia", "type": "mig"}}
        fleet["claims"] = {"part": {"requests": {"gpu": {"class": "part"}}}}
        fleet["workloads"]["train"] = {"cluster": "lab", "claim": "part", "copies": COPIES}

    stack = changed(short, CAPACITY, on_demand)
    served_for_real(short, stack, HARDWARE)
    assert len(claim_files(short.home)) == COPIES
    partitions = sorted(short.home.glob("clusters/lab/nodes/*/proc/nvidia/capabilities/*/mig/gi*/ci0/access"))
    assert len(partitions) == COPIES
    survives_a_kill(short, stack, HARDWARE, MACHINES)
    assert all(partition.is_file() for partition in partitions)


@pytest.mark.full
@pytest.mark.parametrize(("stack", "claims"), {"aks-mig": 7, "eks-mig": 63, "eks-ultraserver": 2}.items())
def test_nvidias_own_driver_prepares_the_claims_of_a_cloud_s_stack(
    short: Rehearsed, stack: str, claims: int
) -> None:
    def latest(fleet: dict[str, Any]) -> None:
        for cluster in fleet["clusters"].values():
            cluster["drivers"]["nvidia"]["version"] = "0.5.0"

    served_for_real(short, changed(short, PROJECT / "examples" / f"{stack}.yaml", latest))
    assert len(claim_files(short.home)) == claims


async def set_gates(kubeconfig: Path, gates: str) -> None:
    """Change the feature gates of the installed driver, as no stack file lets one do."""
    async with KubeApi.connect(read_kubeconfig(str(kubeconfig))) as api:
        name = "dra-driver-nvidia-gpu"
        plugin = await api.get("apps/v1", "DaemonSet", f"{name}-kubelet-plugin", name)
        (container,) = plugin["spec"]["template"]["spec"]["containers"]
        container["env"].append({"name": "FEATURE_GATES", "value": gates})
        await api.replace(plugin)


@pytest.mark.full
def test_a_gate_that_the_driver_does_not_know_is_reported_in_its_last_words(short: Rehearsed) -> None:
    served_for_real(short, CAPACITY)
    asyncio.run(set_gates(short.home / "clusters" / "lab" / "admin.kubeconfig", "NoSuchGate=true"))
    eventually(
        "its last words are reported",
        lambda: (
            "CrashLoopBackOff: back-off restarting failed container gpus: Error: "
            in (words := " ".join(not_started(short, CAPACITY).split()))
            and "NoSuchGate" in words
        ),
    )
