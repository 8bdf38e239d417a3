"""The program of a stack with one cloud imports that cloud's SDK and no other, from first line to last."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from components.platforms import PLATFORMS

PROJECT = Path(__file__).resolve().parents[2]
STACKS = {"aks": "s01-aks-vgpu", "gke": "s04-gke-cel", "eks": "s06-eks-mig", "existing": "s10-capacity"}
SDKS = {"aks": "pulumi_azure_native", "gke": "pulumi_gcp", "eks": "pulumi_aws"}
PROGRAM = """\
import asyncio, json, os, runpy, sys
import pulumi
from pulumi.runtime import mocks

class Cloud(mocks.Mocks):
    def new_resource(self, args):
        return args.name, args.inputs

    def call(self, args):
        return {}

async def declare():
    mocks.set_mocks(Cloud(), project="dra-fleet", stack="one-cloud")
    pulumi.runtime.set_all_config({"dra-fleet:fleet": sys.argv[1]})
    runpy.run_path("__main__.py", run_name="__main__")
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), flush=True)
    os._exit(0)

asyncio.run(declare())
"""


def packages_of(example: str) -> set[str]:
    """The packages imported once the program of an example has declared everything."""
    yaml: Any = YAML(typ="safe", pure=True)
    fleet = yaml.load(PROJECT / "examples" / f"{example}.yaml")["config"]["dra-fleet:fleet"]
    command = [sys.executable, "-c", PROGRAM, json.dumps(fleet)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_every_platform_has_its_stack_and_every_cloud_its_sdk() -> None:
    assert STACKS.keys() == PLATFORMS.keys()
    assert SDKS.keys() == PLATFORMS.keys() - {"existing"}


@pytest.mark.parametrize("cloud", STACKS)
def test_a_stack_of_one_cloud_imports_no_other_cloud_s_sdk(cloud: str) -> None:
    known = {name for name in packages_of(STACKS[cloud]) if name.startswith("pulumi_")}
    assert known == {"pulumi_kubernetes", *([SDKS[cloud]] if cloud in SDKS else [])}
