"""Measure the start of a one-cloud stack's program and of a bare one, both in a preview.

A deployment reads beside the proof what an interrupted run left in the state and in the clusters, which a
bare program does not. Measures, in turns and whole processes, for one stack of each cloud: the program from
the start of the interpreter to its first resource (settings, plan and proof are made by then), and until all
resources are declared (SDKs load most of their modules only when used). Beside it runs a bare program that
imports the SDK modules which the program has imported by then, and declares as many resources of the same
types, names and properties, but nothing of dra-fleet. A second bare program imports pydantic too; the
remaining difference is dra-fleet's own code. They run without an engine, and find their modules compiled, as
after the first run of a program; a shell that forbids them (PYTHONDONTWRITEBYTECODE) changes nothing here.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML
from twins.arguments import parser
from twins.goals import print_beside_goal, print_measured

PROJECT = Path(__file__).resolve().parents[1]
STACKS = {
    "aks": "aks-vgpu",
    "gke": "gke-fallback",
    "eks": "eks-mig",
    "ack": "ack-whole-gpus",
    "existing": "any-gpu-by-memory",
}
"""One example for each cloud."""
ROUNDS = 5
GOAL = 1.15
"""Maximum ratio to a bare program with the same packages: importing pydantic alone can take as much."""
UNTIL = {"first": "its first resource", "all": "all its resources are declared"}
PROGRAM = """\
import asyncio, json, os, runpy, sys
import pulumi
from pulumi.runtime import mocks

class Cloud(mocks.Mocks):
    def new_resource(self, args):
        return args.name, args.inputs

    def call(self, args):
        return {}

def imported(package):
    return [
        name for name, module in sys.modules.items()
        if name.partition(".")[0].startswith(package) and type(module).__name__ != "_LazyModule"
    ]

async def declare():
    mocks.set_mocks(Cloud(), project="dra-fleet", stack="bench", preview=True)
    pulumi.runtime.set_all_config({"dra-fleet:fleet": sys.argv[2]})
    program()

def program():
    if sys.argv[1] == "first":
        pulumi.Resource.__init__ = lambda *arguments, **options: report([])
    declared = []
    if sys.argv[1] == "record":
        init = pulumi.Resource.__init__

        def record(self, t, name, custom, props=None, *arguments, **options):
            given = props if isinstance(props, dict) else vars(props) if props else {}
            declared.append([t, name, custom, list(given)])
            init(self, t, name, custom, props, *arguments, **options)

        pulumi.Resource.__init__ = record
    runpy.run_path("__main__.py", run_name="__main__")
    report(declared)

def report(declared):
    found = {"modules": imported("pulumi"), "resources": declared, "pydantic": imported("pydantic")}
    print(json.dumps(found), flush=True)
    os._exit(0)

asyncio.run(declare())
"""
"""Run the program to its first resource, or until all are declared, and report the SDK modules it imported.

SDKs hold most of their modules back until something of them is used; those do not count. To record what is
declared takes a moment, so that a separate run does it.
"""
BARE = """\
import asyncio, importlib, json, os, sys
import pulumi
from pulumi.runtime import mocks

class Cloud(mocks.Mocks):
    def new_resource(self, args):
        return args.name, args.inputs

    def call(self, args):
        return {}

async def declare():
    mocks.set_mocks(Cloud(), project="bare", stack="bench", preview=True)
    program(**json.loads(sys.argv[2]))

def program(modules, resources):
    for name in modules:
        importlib.import_module(name)
    for type_, name, custom, properties in resources:
        if custom:
            pulumi.CustomResource(type_, name, dict.fromkeys(properties, "x"))
        else:
            pulumi.ComponentResource(type_, name)
    os._exit(0)

asyncio.run(declare())
"""


def main() -> None:
    """Print medians and ratios."""
    rounds = parser(__doc__, ROUNDS).parse_args().rounds
    with TemporaryDirectory(prefix="dra-fleet-bench-") as compiled:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        variables = {**kept, "PYTHONPYCACHEPREFIX": compiled}
        for cloud, example in STACKS.items():
            _measure(cloud, fleet_of(example), variables, rounds)


def fleet_of(example: str) -> str:
    """Return the fleet of an example as the engine passes it to the program."""
    content = YAML(typ="safe", pure=True).load(PROJECT / "examples" / f"{example}.yaml")  # pyright: ignore[reportUnknownMemberType]
    return json.dumps(content["config"]["dra-fleet:fleet"])


def contents(until: str, fleet: str, variables: dict[str, str]) -> dict[str, list[Any]]:
    """Return the program's `resources`, the SDKs' `modules`, and those of `pydantic`.

    Args:
        until: "first" for the first resource, which is not declared yet; "record" for all of them.
        fleet: as the engine hands it over.
        variables: of the process.
    """
    return json.loads(_run(PROGRAM, until, fleet, variables).splitlines()[-1])


def _measure(cloud: str, fleet: str, variables: dict[str, str], rounds: int) -> None:
    for until, words in UNTIL.items():
        found = contents("record" if until == "all" else until, fleet, variables)
        bare = json.dumps({"modules": found["modules"], "resources": found["resources"]})
        with_pydantic = json.dumps(
            {"modules": [*found["pydantic"], *found["modules"]], "resources": found["resources"]}
        )
        own: list[float] = []
        theirs: list[float] = []
        with_models: list[float] = []
        for _ in range(rounds):
            own.append(_timed(PROGRAM, until, fleet, variables))
            theirs.append(_timed(BARE, until, bare, variables))
            with_models.append(_timed(BARE, until, with_pydantic, variables))
        program, plain, modelled = (statistics.median(times) for times in (own, theirs, with_models))
        size = f"{len(found['modules'])} SDK modules and {len(found['resources'])} resources"
        print_measured(f"{cloud}: program until {words}", f"{program:.3f} s")
        print_measured(f"{cloud}: bare program, {size}", f"{plain:.3f} s")
        print_measured(f"{cloud}: program / bare program until {words}", f"{program / plain:.2f}")
        name, ratio = (
            f"{cloud}: program / bare program that imports pydantic, until {words}",
            program / modelled,
        )
        if until == "all":
            print_beside_goal(name, ratio, GOAL)
        else:
            print_measured(name, f"{ratio:.2f}")


def _timed(program: str, until: str, argument: str, variables: dict[str, str]) -> float:
    started = time.perf_counter()
    _run(program, until, argument, variables)
    return time.perf_counter() - started


def _run(program: str, until: str, argument: str, variables: dict[str, str]) -> str:
    command = [sys.executable, "-c", program, until, argument]
    done = subprocess.run(command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
