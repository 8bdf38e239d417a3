import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tests.package.building import PROJECT, built, install

pytestmark = pytest.mark.slow

MADE_UP = PROJECT / "tests" / "contracts" / "made_up"
STACK = PROJECT / "tests" / "data" / "stacks" / "lab.yaml"
EVENTS = PROJECT / "tests" / "review" / "data" / "dev_first.jsonl"
CLOUD_SDKS = ("pulumi_azure_native", "pulumi_aws", "pulumi_gcp", "pulumi_kubernetes", "botocore", "azure")
MANIFEST = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: no-such-class}}]}}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist, as an index or a distribution builds it."""
    folder = tmp_path_factory.mktemp("build")
    shutil.unpack_archive(built("sdist", PROJECT, folder / "sdist"), folder / "source")
    (source,) = (folder / "source").iterdir()
    return built("wheel", source, folder / "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel and what it declares, and nothing else."""
    return install(tmp_path_factory.mktemp("installed"), wheel, "-c", str(PROJECT / "requirements.lock"))


def run(installed: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(installed / "dra-fleet"), *words]
    return subprocess.run(command, cwd=cwd or installed, capture_output=True, text=True, check=False)


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    direct = built("wheel", PROJECT, tmp_path / "direct")
    assert sorted(ZipFile(wheel).namelist()) == sorted(ZipFile(direct).namelist())


def test_the_wheel_adds_one_import_package(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dra_fleet"}


@pytest.mark.parametrize("folder", ["components", "stacks", "policies", "templates", "examples/programs"])
def test_the_package_contains_the_top_level_folders_whole(wheel: Path, folder: str) -> None:
    listed = ["git", "ls-files", folder]
    here = subprocess.run(listed, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    packed = {*ZipFile(wheel).namelist()}
    assert [name for name in here if f"dra_fleet/{name.removeprefix('examples/')}" not in packed] == []


def test_every_requirement_of_the_wheel_admits_the_pin_it_is_developed_with() -> None:
    pins = dict(
        line.split("==") for line in (PROJECT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    )
    requested = [Requirement(line) for line in requires("dra-fleet") or ()]
    own = [one for one in requested if one.name != "dra-fleet"]
    assert len(own) > 20
    for one in own:
        assert one.specifier.contains(pins[one.name.lower().replace("_", "-").replace(".", "-")]), one


def test_prove_runs_from_the_wheel(installed: Path) -> None:
    done = run(installed, "prove", str(STACK), "--json")
    assert done.returncode == 0, done.stderr
    here = subprocess.run(
        [sys.executable, "-c", "from dra_fleet.cli.entry import run; run()", "prove", str(STACK), "--json"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == here.stdout


def test_a_project_of_one_s_own_is_made_and_proved_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    refused = run(installed, "prove", "dev", cwd=tmp_path)
    assert refused.stderr == (
        f"error: there is no Pulumi.yaml in {tmp_path} or above it; "
        "fix: run this in the folder of your project, or make one: dra-fleet init fleet\n"
    )
    made = run(installed, "init", "fleet", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert [path.name for path in tmp_path.glob("fleet/**/__pycache__")] == []
    done = run(installed, "prove", "dev", cwd=tmp_path / "fleet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("every claim finds its devices\n")


def test_check_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "claim.yaml"
    manifest.write_text(MANIFEST, encoding="utf-8")
    done = run(installed, "check", str(manifest), "--stack", str(STACK))
    assert done.returncode == 0
    assert "[class-not-judged]" in done.stdout
    assert done.stderr == ""


def test_a_command_whose_packages_are_missing_says_what_to_install(installed: Path) -> None:
    done = run(installed, "rehearse", "status")
    assert done.returncode == 1
    assert done.stderr == (
        "error: this command requires the package platformdirs, which is not installed; "
        "fix: pip install 'dra-fleet[all]'\n"
    )


def test_the_components_are_read_under_the_package_s_name(wheel: Path, tmp_path: Path) -> None:
    """By the program, and by the made-up cloud, which imports the same name in a checkout."""
    unpacked = [sys.executable, "-m", "zipfile", "-e", str(wheel), str(tmp_path)]
    subprocess.run(unpacked, check=True)
    program = (
        "import dra_fleet.components.fleet, dra_fleet.stacks.program, meadow_cloud.cluster, sys; "
        "print(sorted(sys.modules))"
    )
    paths = f"{tmp_path}{os.pathsep}{MADE_UP}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={"PYTHONPATH": paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "'components'" not in done.stdout


@pytest.mark.full
def test_a_gate_alone_checks_in_an_environment_of_less_than_150_mb_without_a_cloud_s_sdk(
    wheel: Path, tmp_path: Path
) -> None:
    pins = ("-c", str(PROJECT / "requirements.lock"))
    gate = install(tmp_path / "gate", wheel, *pins, extra="gate")

    done = run(gate, "gate", "--events", str(EVENTS), "--judge-again", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rules"] > 40

    (packages,) = gate.parent.glob("lib/python*/site-packages")
    brought = {path.name for path in packages.iterdir() if path.name.startswith(("pip", "setuptools"))}
    own = [path for path in packages.rglob("*") if path.relative_to(packages).parts[0] not in brought]
    assert sum(path.stat().st_size for path in own if path.is_file()) < 150_000_000
    assert [path.name for path in own if path.name in CLOUD_SDKS] == []


DECLARING = """
import json, sys
from pathlib import Path
import pulumi
from pulumi.runtime.mocks import Mocks, set_mocks
from dra_fleet.components.fleet import build
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet import read_stack_file

made = []

class Engine(Mocks):
    def new_resource(self, args):
        made.append(args.typ)
        return None, dict(args.inputs)

    def call(self, args):
        asked, zeros = dict(args.args), 12 if args.token.startswith("aws:") else 16
        scope = asked.get("scope")
        found = {"accountId": "0" * zeros, "projectId": asked.get("projectId"), "id": f"{scope}/x"}
        return found, []

set_mocks(Engine(), preview=True)
plan = make_plan(read_stack_file(Path(sys.argv[1])).settings)
pulumi.runtime.test(lambda: build(plan, pulumi.Output.secret) and None)()
print(json.dumps(made))
"""
"""Declares a stack to an engine that knows nothing yet."""


@pytest.mark.full
@pytest.mark.parametrize(
    ("extra", "example", "made"),
    [
        ("aks", "aks-vgpu", "azure-native:containerservice:AgentPool"),
        ("gke", "gke-fallback", "gcp:container/nodePool:NodePool"),
        ("eks", "eks-mig", "aws:eks/nodeGroup:NodeGroup"),
        ("ack", "ack-whole-gpus", "alicloud:cs/nodePool:NodePool"),
    ],
)
def test_a_cloud_s_extra_is_all_that_a_stack_on_it_needs(
    extra: str, example: str, made: str, wheel: Path, tmp_path: Path
) -> None:
    commands = install(tmp_path / extra, wheel, "-c", str(PROJECT / "requirements.lock"), extra=extra)
    stack = PROJECT / "examples" / f"{example}.yaml"
    done = subprocess.run(
        [commands / "python", "-c", DECLARING, stack],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert made in json.loads(done.stdout)
