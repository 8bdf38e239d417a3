"""Runs an example program on the real engine, with simulated clouds."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from dra_fleet import clouds
from dra_fleet.rehearsal import providers
from dra_fleet.rehearsal.environment import environment
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld

PROJECT = Path(__file__).resolve().parents[3]
EXAMPLES = PROJECT / "examples" / "programs"
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
    """A copy of an example's project with a new backend, and the plugins of all simulated clouds.

    Args:
        folder: Folder of the copy, the backend and the engine's home.
        rehearsal: Simulator of the clouds.
        tools: Engine and plugins.
        example: Name of the example.
        path: Folders of programs that are found first.
    """

    def __init__(
        self, folder: Path, rehearsal: RehearsalWorld, tools: Toolset, example: str, path: str = ""
    ) -> None:
        self.folder = Path(shutil.copytree(EXAMPLES / example, folder / "project"))
        self.rehearsal = rehearsal
        (folder / "state").mkdir()
        self.pulumi = str(tools.pulumi)
        variables = environment(rehearsal.home, tools)
        self.environment = {
            **variables,
            "PATH": os.pathsep.join(filter(None, [path, variables["PATH"]])),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PYTHONPATH": str(PROJECT),
        }
        providers.install_kubernetes(folder / "home", tools.kubernetes_provider)
        for cloud in clouds.BUILT_IN:
            if cloud == "existing":
                continue
            providers.install(folder / "home", Path(sys.executable), providers.cloud_plugin(cloud))
        assert self.run("stack", "init", "dev").returncode == 0

    def enter(self) -> None:
        """Start a cluster with one node of eight H100s, and configure its kubeconfig."""
        cluster = self.rehearsal.new_cluster(HARDWARE)
        kubeconfig = yaml.safe_load(cluster.kubeconfig.read_text()) | {"current-context": cluster.name}
        self.configure(yaml.safe_dump(kubeconfig))

    def configure(self, kubeconfig: str) -> None:
        """Configure the kubeconfig of the cluster that exists."""
        done = self.run("config", "set", "--secret", "kubeconfig", "--", kubeconfig)
        assert done.returncode == 0, done.stdout

    def replace(self, old: str, new: str) -> None:
        """Replace a text of the program."""
        main = self.folder / "__main__.py"
        text = main.read_text(encoding="utf-8")
        assert old in text
        main.write_text(text.replace(old, new), encoding="utf-8")

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

    def gate(self, *options: str) -> dict[str, Any]:
        """Return the verdict of `dra-fleet gate`."""
        return self._asked("gate", "dev", "--cwd", str(self.folder), "--json", *options)

    def review(self, events: Path) -> dict[str, Any]:
        """Return the review of a saved preview."""
        return self._asked("review", "dev", "--events", str(events), "--json")

    def _asked(self, *words: str) -> dict[str, Any]:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("dra-fleet")), *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode in {0, 1, 10}, done.stdout + done.stderr
        return json.loads(done.stdout)

    def types(self) -> set[str]:
        """Return the types of the resources in the state."""
        resources = json.loads(self.run("stack", "export").stdout)["deployment"].get("resources", [])
        return {resource["type"] for resource in resources}
