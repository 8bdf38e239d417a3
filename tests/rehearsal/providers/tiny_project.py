"""A Pulumi project made of plain resource declarations, run with the real engine and the stand-in plugin."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_fleet.rehearsal.providers.kubernetes import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.rehearsal.tools import Toolset

PROGRAM = f"""
import json, pathlib, pulumi

declared = json.loads(pathlib.Path("declared.json").read_text())


def value(item):
    if isinstance(item, dict):
        if "$secret" in item:
            return pulumi.Output.secret(item["$secret"])
        if "$name" in item:
            return made[item["$name"]].metadata["name"]
        return {{key: value(child) for key, child in item.items()}}
    return [value(child) for child in item] if isinstance(item, list) else item


class Thing(pulumi.CustomResource):
    metadata: pulumi.Output


def options(entry):
    given = dict(entry.get("options", {{}}))
    if "custom_timeouts" in given:
        given["custom_timeouts"] = pulumi.CustomTimeouts(**given["custom_timeouts"])
    return pulumi.ResourceOptions(provider=providers[entry.get("provider", "lab")], **given)


providers = {{
    name: pulumi.ProviderResource(
        "kubernetes", name, value(settings), pulumi.ResourceOptions(version="{VERSION}")
    )
    for name, settings in declared["providers"].items()
}}
made = {{}}
for name, entry in declared["resources"].items():
    properties = {{**value(entry["properties"]), **{{key: None for key in entry.get("outputs", [])}}}}
    properties.setdefault("metadata", None)
    made[name] = Thing(entry["type"], name, properties, options(entry))
"""


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


@dataclass(frozen=True)
class Run:
    """One run of the engine."""

    code: int
    output: str

    def count(self, what: str) -> int:
        """How many resources the summary says were `updated`, `replaced`, are `to replace`, and so on."""
        found = re.search(rf"^\s+\D*(\d+) {re.escape(what)}$", self.output, re.MULTILINE)
        return int(found[1]) if found else 0


@dataclass
class TinyProject:
    """One project with one stack, in a directory of its own."""

    directory: Path
    tools: Toolset
    pulumi_home: Path
    providers: dict[str, dict[str, Any]]
    resources: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def __post_init__(self) -> None:
        (self.directory / "backend").mkdir(parents=True)
        (self.directory / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
        (self.directory / "__main__.py").write_text(PROGRAM)
        self.pulumi("stack", "init", "dev")

    def declare(
        self, name: str, kind: str, properties: dict[str, Any], *, provider: str = "lab", **options: Any
    ) -> None:
        """Declare a resource, or change its declaration. `kind` is such as `core/v1:Namespace`."""
        self.resources[name] = {
            "type": f"kubernetes:{kind}",
            "properties": properties,
            "provider": provider,
            "options": options,
        }

    def up(self, *arguments: str) -> Run:
        """`pulumi up` without a preview."""
        return self.pulumi("up", "--yes", "--skip-preview", *arguments)

    def preview(self, *arguments: str) -> Run:
        """`pulumi preview`."""
        return self.pulumi("preview", *arguments)

    def refresh(self, *arguments: str) -> Run:
        """`pulumi refresh` without a preview."""
        return self.pulumi("refresh", "--yes", "--skip-preview", *arguments)

    def destroy(self, *arguments: str) -> Run:
        """`pulumi destroy` without a preview."""
        return self.pulumi("destroy", "--yes", "--skip-preview", *arguments)

    def pulumi(self, *arguments: str) -> Run:
        """Run the engine with what is declared now."""
        declared = {"providers": self.providers, "resources": self.resources}
        (self.directory / "declared.json").write_text(json.dumps(declared))
        command = [str(self.tools.pulumi), *arguments, "--non-interactive", "--color", "never"]
        result = subprocess.run(
            command,
            cwd=self.directory,
            env=self._environment(),
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        return Run(result.returncode, result.stdout)

    def _environment(self) -> dict[str, str]:
        return engine_environment(
            self.directory,
            first=(Path(sys.executable).parent, self.tools.language_host_dir, self.tools.helm.parent),
            home=self.directory / "home",
            pulumi_home=self.pulumi_home,
        )

    @property
    def state_text(self) -> str:
        """The state file as it lies on disk."""
        return (self.directory / "backend/.pulumi/stacks/tiny/dev.json").read_text()

    def state(self, name: str) -> dict[str, Any]:
        """One resource as the state has it, secrets in clear."""
        exported = json.loads(self.pulumi("stack", "export", "--show-secrets").output)
        resources: list[dict[str, Any]] = exported["deployment"].get("resources", [])
        none: dict[str, Any] = {}
        return next((item for item in resources if item["urn"].endswith(f"::{name}")), none)
