import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dra_fleet import clouds

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
STACKS = {
    "aks": "aks-vgpu",
    "gke": "gke-fallback",
    "eks": "eks-mig",
    "ack": "ack-whole-gpus",
    "existing": "any-gpu-by-memory",
}
SDKS = {"aks": "pulumi_azure_native", "gke": "pulumi_gcp", "eks": "pulumi_aws", "ack": "pulumi_alicloud"}
PROGRAM = """\
import json, runpy, sys
import pulumi

class Reached(BaseException):
    pass

def reached(*arguments, **options):
    raise Reached

pulumi.Resource.__init__ = reached
pulumi.runtime.set_all_config({"dra-fleet:fleet": sys.argv[1]})
try:
    runpy.run_path("__main__.py", run_name="__main__")
except Reached:
    print(json.dumps(sorted(sys.modules)))
"""
"""Runs the program to its first resource; all platforms have been imported by then."""


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """By cloud the modules that are imported when its stack's program makes its first resource."""
    with ExitStack() as running:
        programs = {
            cloud: running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PROGRAM, fleet_of(example)],
                    cwd=PROJECT,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for cloud, example in STACKS.items()
        }
        output = {cloud: program.communicate() for cloud, program in programs.items()}
    for cloud, program in programs.items():
        assert program.returncode == 0, output[cloud][1]
    return {cloud: set(json.loads(out.splitlines()[-1])) for cloud, (out, _) in output.items()}


def fleet_of(example: str) -> str:
    """The fleet of an example as the engine hands it to the program."""
    yaml: Any = YAML(typ="safe", pure=True)
    return json.dumps(yaml.load(PROJECT / "examples" / f"{example}.yaml")["config"]["dra-fleet:fleet"])


def test_every_platform_has_its_stack_and_every_cloud_its_sdk() -> None:
    assert STACKS.keys() == set(clouds.names())
    assert SDKS.keys() == STACKS.keys() - {"existing"}


@pytest.mark.parametrize("cloud", STACKS)
def test_a_stack_of_one_cloud_imports_no_other_cloud_s_sdk(cloud: str, imported: dict[str, set[str]]) -> None:
    known = {name.partition(".")[0] for name in imported[cloud] if name.startswith("pulumi_")}
    assert known == {"pulumi_kubernetes", *([SDKS[cloud]] if cloud in SDKS else [])}


@pytest.mark.parametrize("cloud", STACKS)
def test_a_stack_of_one_cloud_imports_no_module_of_another_cloud(
    cloud: str, imported: dict[str, set[str]]
) -> None:
    found = {
        other.name
        for other in clouds.known()
        for name in imported[cloud]
        if f"{name}.".startswith((f"{type(other).__module__}.", f"components.clouds.{other.name}."))
    }
    assert found == {cloud}
