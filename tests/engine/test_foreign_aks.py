"""A third-party program, on the real engine: an AKS cluster below the floor does not pass the gate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.providers import cloud_plugin, install
from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine

PROGRAM = PROJECT / "tests" / "data" / "foreign-aks"
PACK = PROJECT / "policies" / "run-pack"
RULE = "cluster-require-minimum-kubernetes"
REFUSED = (
    "legacy (azure-native:containerservice:ManagedCluster): kubernetesVersion is '1.33'; "
    "allowed: 1.34 or newer (claims of devices need resource.k8s.io/v1, which is served from 1.34); "
    "fix: upgrade, one minor at a time, to 1.34 or newer\n"
)


class Foreign:
    """The program with a stack on a separate backend and the simulated plugin."""

    def __init__(self, folder: Path, tools: Toolset, simulator: RehearsalWorld) -> None:
        (folder / "state").mkdir()
        self._program = Path(shutil.copytree(PROGRAM, folder / "program"))
        install(folder / "pulumi", Path(sys.executable), cloud_plugin("aks"))
        first = (Path(sys.executable).parent, tools.pulumi.parent, tools.language_host_dir)
        self._pulumi = tools.pulumi
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([*map(str, first), os.environ["PATH"]]),
            "DRA_FLEET_HOME": str(simulator.home.root),
            "PULUMI_HOME": str(folder / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
        self.run("stack", "init", "dev", kubernetes="")

    def run(self, *arguments: str, kubernetes: str, network: str = "") -> subprocess.CompletedProcess[str]:
        """Run the engine; both outputs come back as one text."""
        return subprocess.run(
            [str(self._pulumi), "--non-interactive", "--color", "never", *arguments],
            cwd=self._program,
            env={**self._environment, "KUBERNETES": kubernetes, "NETWORK": network},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )


@pytest.fixture
def foreign(tmp_path: Path, tools: Toolset, rehearsal_simulator: RehearsalWorld) -> Foreign:
    return Foreign(tmp_path, tools, rehearsal_simulator)


def test_a_foreign_aks_cluster_below_the_floor_is_refused_before_anything_is_made(foreign: Foreign) -> None:
    gate = ("--policy-pack", str(PACK))
    for command in (["preview", "--stack", "dev"], ["up", "--stack", "dev", "--yes"]):
        result = foreign.run(*command, *gate, kubernetes="1.33")
        assert result.returncode != 0, result.stdout
        assert re.search(rf"\[mandatory\].* {RULE} ", result.stdout), result.stdout
        assert REFUSED in result.stdout
    assert "managedClusters" not in foreign.run("stack", "export", "--stack", "dev", kubernetes="").stdout


def test_the_same_program_at_the_floor_is_not_refused_for_its_version(foreign: Foreign) -> None:
    result = foreign.run("preview", "--stack", "dev", "--policy-pack", str(PACK), kubernetes="1.34")
    assert "kubernetesVersion is" not in result.stdout


def test_a_type_that_the_simulated_azure_lacks_is_named(foreign: Foreign) -> None:
    result = foreign.run("preview", "--stack", "dev", kubernetes="1.36", network="yes")
    assert result.returncode != 0, result.stdout
    lacks = "the simulated Azure has no resource type azure-native:network:RouteTable; it has: "
    known, *_ = re.findall(rf"{re.escape(lacks)}(.+)", result.stdout)
    assert "azure-native:containerservice:AgentPool, " in known
