"""A tiny program on a simulated cloud: a project with one stack, in a separate directory."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dra_fleet.rehearsal.providers import Plugin, install
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import RehearsalWorld


class CloudProgram:
    """A program on a simulated cloud, run by the real engine with the cloud's simulated plugin.

    It finds in given.json what the test gives it.
    """

    def __init__(
        self, directory: Path, tools: Toolset, simulator: RehearsalWorld, *, program: str, plugin: Plugin
    ) -> None:
        self.directory = directory
        self._tools = tools
        self._simulator = simulator
        (directory / "backend").mkdir(parents=True)
        (directory / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
        (directory / "__main__.py").write_text(program)
        install(directory / "pulumi", Path(sys.executable), plugin)
        self.run("stack", "init", "dev")

    def given(self, **values: Any) -> None:
        """Return the inputs of the program's machines."""
        (self.directory / "given.json").write_text(json.dumps(values))

    def run(self, *arguments: str) -> str:
        """Run the engine; it must succeed."""
        done = self.try_to(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def try_to(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the engine, with any exit code."""
        return subprocess.run(
            [str(self._tools.pulumi), *arguments, "--non-interactive", "--color", "never"],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The engine's own home and backend, the rehearsal's credential helpers."""
        return engine_environment(
            self.directory,
            first=(self._simulator.home.bin, Path(sys.executable).parent, self._tools.language_host_dir),
            home=self._simulator.home.root,
            pulumi_home=self.directory / "pulumi",
        )

    @property
    def state_text(self) -> str:
        """The stack's state as it lies on disk."""
        return (self.directory / "backend/.pulumi/stacks/tiny/dev.json").read_text()

    def token(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["status"]["token"]


def engine_environment(
    directory: Path, *, first: Sequence[Path], home: Path, pulumi_home: Path
) -> dict[str, str]:
    """The variables of an engine whose backend lies in a project's directory; it fetches nothing by itself.

    Args:
        directory: of the project.
        first: what stands before everything else on PATH.
        home: of the rehearsal.
        pulumi_home: where the engine finds its plugins.
    """
    return {
        **os.environ,
        "PATH": os.pathsep.join([*map(str, first), os.environ["PATH"]]),
        "DRA_FLEET_HOME": str(home),
        "PULUMI_HOME": str(pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{directory / 'backend'}",
        "PULUMI_CONFIG_PASSPHRASE": "tiny",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
