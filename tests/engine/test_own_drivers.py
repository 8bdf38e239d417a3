"""Drivers' own programs in a rehearsal: chosen by option, told in the tables, ended with the rehearsal."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.drivers.example.binaries import recipes
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain
from tests.engine.rehearsed import PROJECT, Rehearsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine.rehearsed import Finished

pytestmark = pytest.mark.engine

FLOOR = PROJECT / "examples" / "floor-1.34.yaml"
CAPACITY = PROJECT / "examples" / "s10-capacity.yaml"
WAITING = 3
MACHINES = 3
"""In the hardware file of that stack."""
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
    program.write_text(f"#!/bin/sh\ncd {PROJECT} && exec {sys.executable} -m {module} {how}\n")
    program.chmod(0o755)
    return program


def working_in(home: Path) -> list[str]:
    """The command lines of what runs in a home's directories."""
    return [
        " ".join(item.info["cmdline"] or ()) for item in psutil.process_iter(["cmdline"]) if is_in(item, home)
    ]


def is_in(process: psutil.Process, home: Path) -> bool:
    """Whether a process works in a home, or speaks to a cluster of it."""
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
    told: dict[str, Any] = rehearsed.ask("rehearse", "status", str(stack), "--json").json["clusters"]
    return " ".join(line for cluster in told.values() for line in cluster["plugins_not_started"])


def test_what_a_program_by_path_does_wrong_is_named_and_nothing_of_it_stays(short: Rehearsed) -> None:
    def up(how: str) -> Finished:
        program = made_up(short.files, how)
        return short.run("rehearse", "up", str(FLOOR), "--drivers", f"example={program}", "--wait", "0")

    short.up(FLOOR)
    for how, words in {
        "crashes": "container plugin: CrashLoopBackOff: back-off restarting failed container plugin: "
        "panic: out of luck",
        "silent": "plugin: it has made no socket to register with yet",
        "old": "plugin: it registers with v1alpha4.Node; this kubelet speaks v1.DRAPlugin",
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


@pytest.mark.full
def test_nvidias_own_driver_serves_and_claims_survive_that_it_is_killed(short: Rehearsed) -> None:
    done = short.run("rehearse", "up", str(CAPACITY), "--drivers", "real", "--json")
    assert done.code == 0, done.err
    assert done.json["drivers"]["nvidia 0.5.0"].endswith("/gpu-kubelet-plugin")
    files = sorted(short.home.glob("clusters/lab/nodes/*/cdi/*claim_*.yaml"))
    assert len(files) == done.json["clusters"]["lab"]["workloads"]["train"]["wanted"]
    plugins = plugins_in(short.home)
    assert len(plugins) == MACHINES
    for plugin in plugins:
        plugin.kill()
    eventually(
        "other processes serve",
        lambda: (
            len(plugins_in(short.home)) == MACHINES and not any(plugin.is_running() for plugin in plugins)
        ),
    )
    eventually("all is held", lambda: short.ask("rehearse", "status", str(CAPACITY)).code == 0)
    assert sorted(short.home.glob("clusters/lab/nodes/*/cdi/*claim_*.yaml")) == files


@pytest.mark.full
def test_a_gate_that_the_driver_does_not_know_is_told_in_its_last_words(short: Rehearsed) -> None:
    yaml = YAML(typ="safe", pure=True)
    content: Any = yaml.load(CAPACITY)  # pyright: ignore[reportUnknownMemberType]
    drivers = content["config"]["dra-fleet:fleet"]["clusters"]["lab"]["drivers"]
    drivers["nvidia"]["values"] = {"featureGates": {"DeviceMetadata": True}}
    file = short.files / "gated.yaml"
    yaml.dump(content, file)  # pyright: ignore[reportUnknownMemberType]
    machines = PROJECT / "examples" / "hardware" / "s10-capacity.yaml"
    options = ["--hardware", str(machines), "--drivers", "real", "--wait", "0"]
    started = short.start("rehearse", "up", str(file), *options)

    def last_words() -> bool:
        told = short.ask("rehearse", "status", str(file), "--hardware", str(machines))
        words = " ".join(told.out.split())
        return "back-off restarting failed container gpus: Error:" in words and "DeviceMetadata" in words

    short.until(started, "its last words are told", last_words)
    started.kill()
    started.wait()
