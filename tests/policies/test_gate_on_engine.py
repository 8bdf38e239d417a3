"""The gate on the real engine: by path, from another project, without any provider plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rehearsal.tools import Toolset

pytestmark = pytest.mark.engine

PACK = Path(__file__).resolve().parents[2] / "policies" / "run-pack"

PROGRAM = """
import os
import pulumi

class Cluster(pulumi.ComponentResource):
    def __init__(self, name, token, version):
        super().__init__(token, name, {"version": version, "kubernetes": version})
        self.register_outputs({})

version = os.environ["VERSION"]
if version == "unknown":
    version = pulumi.Output.from_input(pulumi.UNKNOWN)
Cluster("judged", os.environ["TYPE"], version)
"""

REFUSED = (
    "is {got}; allowed: 1.34 or newer (resource.k8s.io/v1, which everything here uses, is served from 1.34); "
)


class Project:
    """Another Pulumi program on a backend of its own."""

    def __init__(self, folder: Path, tools: Toolset) -> None:
        self.folder = folder / "program"
        self.folder.mkdir()
        (folder / "state").mkdir()
        (self.folder / "Pulumi.yaml").write_text("name: other\nruntime: python\n", encoding="utf-8")
        (self.folder / "__main__.py").write_text(PROGRAM, encoding="utf-8")
        self.pulumi = tools.pulumi
        first = (Path(sys.executable).parent, tools.pulumi.parent, tools.language_host_dir)
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([*map(str, first), os.environ["PATH"]]),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
        self.run("stack", "init", "dev")

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the engine; both outputs come back as one text."""
        return subprocess.run(
            [str(self.pulumi), "--non-interactive", *arguments],
            cwd=self.folder,
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture
def project(tmp_path: Path, tools: Toolset) -> Project:
    """A program that is not ours and knows nothing of the pack."""
    return Project(tmp_path, tools)


@pytest.mark.parametrize("token", ["dra-fleet:platforms:ExistingCluster", "aws:eks/cluster:Cluster"])
def test_an_old_cluster_stops_preview_and_update(token: str, project: Project) -> None:
    for command in (["preview"], ["up", "--yes", "--skip-preview"]):
        result = project.run(*command, "--policy-pack", str(PACK), TYPE=token, VERSION="1.33")
        assert result.returncode != 0, result.stdout
        assert "[mandatory] [severity: critical]  cluster-require-minimum-kubernetes" in result.stdout
        assert REFUSED.format(got="'1.33'") in result.stdout
    assert '"judged"' not in project.run("stack", "export").stdout


def test_a_version_that_is_unknown_at_preview_stops_it(project: Project) -> None:
    arguments = ("preview", "--policy-pack", str(PACK))
    result = project.run(*arguments, TYPE="aws:eks/cluster:Cluster", VERSION="unknown")
    assert result.returncode != 0, result.stdout
    assert "version is unknown at preview; allowed: a value that is known at preview" in result.stdout


def test_a_new_cluster_passes_with_no_provider_plugin_at_all(project: Project) -> None:
    arguments = ("up", "--yes", "--skip-preview", "--policy-pack", str(PACK))
    result = project.run(*arguments, TYPE="gcp:container/cluster:Cluster", VERSION="1.35.8-gke.1036000")
    # GKE's own words: the floor looks at minMasterVersion, which this program leaves out.
    assert "minMasterVersion is absent" in result.stdout
    result = project.run(*arguments, TYPE="dra-fleet:platforms:ExistingCluster", VERSION="1.34")
    assert result.returncode == 0, result.stdout
