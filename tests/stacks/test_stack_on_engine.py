import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal import providers
from dra_fleet.rehearsal.environment import environment
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine

PROJECT = Path(__file__).resolve().parents[2]
PACK = PROJECT / "policies" / "run-pack"
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
JOB = "kubernetes:batch/v1:Job"


class Stack:
    """This program in a separate folder, against a cluster without nodes."""

    def __init__(self, folder: Path, simulator: RehearsalWorld, tools: Toolset) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        for name in ("Pulumi.yaml", "__main__.py"):
            shutil.copy(PROJECT / name, self.folder)
        self.context = simulator.new_cluster().name
        backend = folder / "state"
        backend.mkdir()
        self.pulumi = str(tools.pulumi)
        self.environment = {
            **environment(simulator.home, tools),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{backend}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
        }
        providers.install_kubernetes(folder / "home", tools.kubernetes_provider)
        self.write()
        self.run("stack", "init", "dev")

    def write(self, *, class_name: str = "big", kubernetes: str = "1.36") -> None:
        """Write the stack file."""
        fleet: dict[str, Any] = {
            "owner": "ml",
            "environment": "development",
            "kubernetes": kubernetes,
            "clusters": {
                "lab": {
                    "cloud": "existing",
                    "kubeconfig": {"context": self.context},
                    "drivers": {},
                    "pools": {
                        "h100": {
                            "machine": "hgx-h100-8",
                            "nodes": {"min": 1, "max": 1},
                            "nodeSelector": {"pool": "h100"},
                        }
                    },
                }
            },
            "classes": {
                "big": {"driver": "nvidia", "type": "gpu", "memory": {"min": "20Gi"}},
                "bigger": {"driver": "nvidia", "type": "gpu", "memory": {"min": "40Gi"}},
            },
            "claims": {"one": {"requests": {"gpu": {"class": class_name}}}},
            "workloads": {"train": {"cluster": "lab", "claim": "one", "copies": 2}},
        }
        config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
        path = self.folder / "Pulumi.dev.yaml"
        kept: dict[str, Any] = {}
        if path.exists():
            kept = YAML(typ="safe").load(path)  # pyright: ignore[reportUnknownMemberType] - ruamel is partly untyped
        YAML(typ="safe").dump({**kept, "config": config}, path)  # pyright: ignore[reportUnknownMemberType]

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

    def up(self) -> str:
        """Apply and return what was printed."""
        result = self.run("up", "--yes", "--skip-preview", "--policy-pack", str(PACK))
        assert result.returncode == 0, result.stdout
        return result.stdout

    def resources(self) -> list[dict[str, Any]]:
        """The resources of the state."""
        return json.loads(self.run("stack", "export").stdout)["deployment"].get("resources", [])

    def outputs_of(self, resource_type: str) -> dict[str, Any]:
        """The outputs of the one resource of that type."""
        (found,) = [resource for resource in self.resources() if resource["type"] == resource_type]
        return found["outputs"]


@pytest.fixture
def stack(tmp_path: Path, rehearsal_simulator: RehearsalWorld, tools: Toolset) -> Stack:
    """A stack of one cluster."""
    return Stack(tmp_path, rehearsal_simulator, tools)


def test_a_stack_is_created_changed_by_replacement_and_deleted(stack: Stack) -> None:
    stack.up()
    first = stack.outputs_of(TEMPLATE)["metadata"]["name"]
    assert "unchanged" in stack.up()
    stack.write(class_name="bigger")
    preview = stack.run("preview", "--diff", "--policy-pack", str(PACK))
    assert preview.returncode == 0, preview.stdout
    assert "2 to replace" in preview.stdout, preview.stdout
    stack.up()
    second = stack.outputs_of(TEMPLATE)["metadata"]["name"]
    assert second != first
    pod = stack.outputs_of(JOB)["spec"]["template"]["spec"]
    assert pod["resourceClaims"][0]["resourceClaimTemplateName"] == second
    provider = stack.outputs_of("pulumi:providers:kubernetes")
    assert provider["kubeconfig"] == ""
    gone = stack.run("destroy", "--yes", "--skip-preview")
    assert gone.returncode == 0, gone.stdout
    assert stack.resources() == []


def test_a_wrong_stack_file_registers_nothing_and_exits_1(stack: Stack) -> None:
    stack.write(kubernetes="1.33")
    result = stack.run("up", "--yes", "--skip-preview")
    assert result.returncode == 1
    assert "dra-fleet:fleet.kubernetes: is too old" in result.stdout
    assert "Traceback" not in result.stdout
    assert {resource["type"] for resource in stack.resources()} <= {"pulumi:pulumi:Stack"}
