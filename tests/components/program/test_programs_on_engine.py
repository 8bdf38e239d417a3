"""The example program of an existing cluster on the real engine, scheduler and Kubernetes provider."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dra_fleet.rehearsal import providers
from dra_fleet.rehearsal.environment import environment

if TYPE_CHECKING:
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine

PROJECT = Path(__file__).resolve().parents[3]
EXAMPLE = PROJECT / "examples" / "programs" / "existing"
PACK = PROJECT / "policies" / "run-pack"
HARDWARE: dict[str, Any] = {
    "kubernetes": "v1.36.3",
    "nodes": [
        {
            "name": "h100-0",
            "machine": "hgx-h100-8",
            "labels": {"example.com/pool": "h100", "nvidia.com/gpu.present": "true"},
            "nvidia": {"driverVersion": "580.126.9"},
        }
    ],
}


class Program:
    """A project with the example's program, and a new cluster for it."""

    def __init__(self, folder: Path, rehearsal: RehearsalWorld, tools: Toolset) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        (folder / "state").mkdir()
        (self.folder / "Pulumi.yaml").write_text((EXAMPLE / "Pulumi.yaml").read_text())
        self.pulumi = str(tools.pulumi)
        self.environment = {
            **environment(rehearsal.home, tools),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PYTHONPATH": str(PROJECT),
        }
        providers.install_kubernetes(folder / "home", tools.kubernetes_provider)
        self.write()
        self.run("stack", "init", "dev")
        cluster = rehearsal.new_cluster(HARDWARE)
        kubeconfig = yaml.safe_load(cluster.kubeconfig.read_text()) | {"current-context": cluster.name}
        done = self.run("config", "set", "--secret", "kubeconfig", "--", yaml.safe_dump(kubeconfig))
        assert done.returncode == 0, done.stdout

    def write(self, old: str = "", new: str = "") -> None:
        """Write the example's program, with a text replaced."""
        text = (EXAMPLE / "__main__.py").read_text(encoding="utf-8")
        assert old in text
        (self.folder / "__main__.py").write_text(text.replace(old, new) if old else text, encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the engine; both outputs come back as one text."""
        return subprocess.run(
            [self.pulumi, "--non-interactive", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )

    def types(self) -> set[str]:
        """Return the types of the resources in the state."""
        resources = json.loads(self.run("stack", "export").stdout)["deployment"].get("resources", [])
        return {resource["type"] for resource in resources}


@pytest.fixture
def program(tmp_path: Path, rehearsal_world: RehearsalWorld, tools: Toolset) -> Program:
    """The example's program beside a cluster with one node of eight H100s."""
    return Program(tmp_path, rehearsal_world, tools)


def test_program_is_deployed_unchanged_and_deleted(program: Program) -> None:
    made = program.run("up", "--yes", "--policy-pack", str(PACK))
    assert made.returncode == 0, made.stdout
    assert "kubernetes:apps/v1:Deployment" in program.types()
    again = program.run("preview", "--expect-no-changes", "--policy-pack", str(PACK))
    assert again.returncode == 0, again.stdout
    deleted = program.run("destroy", "--yes", "--skip-preview")
    assert deleted.returncode == 0, deleted.stdout
    assert program.types() == set()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "REPLICAS = 8",
            "REPLICAS = 9",
            "error: Demand single-gpu: on cluster lab, never: single-gpu: 9 x 1 devices are asked for",
        ),
        (
            '{"min": "40Gi"}',
            '{"min": "1Ti"}',
            "error: DeviceClass at-least-40g: class at-least-40g matches 0 of 8 devices of a node of pool",
        ),
        (
            'type="gpu"',
            'typ="gpu"',
            "error: DeviceClass at-least-40g: typ is not an argument; allowed: type; 14 are known",
        ),
    ],
)
def test_wrong_program_stops_its_preview_with_one_sentence(
    old: str, new: str, message: str, program: Program
) -> None:
    program.write(old, new)
    done = program.run("preview")
    assert done.returncode != 0
    assert message in done.stdout, done.stdout
    assert "Traceback" not in done.stdout
