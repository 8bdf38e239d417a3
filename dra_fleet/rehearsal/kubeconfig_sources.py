"""Gives a rehearsed stack its kubeconfigs where it does not take them from $KUBECONFIG.

A stack may name its own secret or another stack's output. Both are made here in the rehearsal's own
backend, with the kubeconfig of the simulated cluster, which names a credential helper and holds no secret.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import yaml

from dra_fleet.core.interrupts import heeding_interrupts
from dra_fleet.model.settings import KubeconfigSecret, StackOutput
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.interrupted import clear_stale_lock
from dra_fleet.rehearsal.project import ensure_stack, recorded
from dra_fleet.rehearsal.simulator.files import write_private
from dra_fleet.rehearsal.stack_copy import SALT, reference, secret_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.rehearsal.home import Home

EXPORTS = "exports.json"
EXPORTED = "exported.json"
PROGRAM = f'''\
"""Simulated stack that exports kubeconfigs; made by a rehearsal."""

import json
import pathlib

import pulumi

for name, value in json.loads(pathlib.Path("{EXPORTS}").read_text()).items():
    pulumi.export(name, pulumi.Output.secret(value))
'''


def provide_kubeconfigs(
    home: Home,
    pulumi: Path,
    clusters: Iterable[ClusterPlan],
    *,
    stack: str,
    directory: Path,
    env: Mapping[str, str],
) -> None:
    """Make the secrets and the referenced stacks that the clusters' kubeconfigs come from.

    Args:
        home: the rehearsal.
        pulumi: the engine's command line.
        clusters: the stack's clusters; they run already.
        stack: the stack, which exists in the rehearsal's backend.
        directory: its project directory; a copy wherever there is something to be made.
        env: the rehearsal's environment.

    Raises:
        RehearsalError: a stack is another program's already, or the engine refused; its own text.
    """
    clusters = tuple(clusters)
    exports: defaultdict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for cluster in clusters:
        source = cluster.kubeconfig
        if isinstance(source, KubeconfigSecret):
            command = ["config", "set", "--secret", secret_key(source.secret), "--stack", stack]
            _run(pulumi, command, directory, env, given=one_context(home, cluster.name))
        elif isinstance(source, StackOutput):
            outputs, text = exports[reference(source.stack)], one_context(home, cluster.name)
            if source.key is None:
                outputs[source.output] = text
            else:
                outputs.setdefault(source.output, {})[source.key] = text
    for (project, name), outputs in exports.items():
        _create_exporter(home, pulumi, env, project=project, stack=name, outputs=outputs)


def one_context(home: Home, cluster: str) -> str:
    """Return the kubeconfig of one simulated cluster: its only context is the current one.

    Raises:
        RehearsalError: the cluster is not in the rehearsal's kubeconfig.
    """
    everything: dict[str, Any] = yaml.safe_load(home.kubeconfig.read_text(encoding="utf-8"))
    parts = {
        section: [item for item in everything[section] if item["name"] == cluster]
        for section in ("clusters", "users", "contexts")
    }
    if not all(parts.values()):
        raise RehearsalError(
            f"cluster {cluster} is not in {home.kubeconfig}; run `dra-fleet rehearse up` again"
        )
    return yaml.safe_dump({**everything, **parts, "current-context": cluster}, sort_keys=False)


def _create_exporter(
    home: Home,
    pulumi: Path,
    env: Mapping[str, str],
    *,
    project: str,
    stack: str,
    outputs: Mapping[str, Any],
) -> None:
    """Make the stack that exports these outputs, unless it does so already."""
    directory = home.root / "references" / project / stack
    if not (directory / EXPORTS).exists() and recorded(home.backend, stack, project).exists():
        raise RehearsalError(
            f"stack {project}/{stack} is another program's in this rehearsal, which would replace it; "
            "adopt the cluster that it makes (`adopt: {name: {stack, output}}`), or rehearse in another "
            "home: DRA_FLEET_HOME=DIRECTORY"
        )
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    requested = json.dumps(outputs, sort_keys=True)
    exported = directory / EXPORTED
    if exported.exists() and exported.read_text(encoding="utf-8") == requested:
        return
    write_private(directory / "Pulumi.yaml", yaml.safe_dump({"name": project, "runtime": "python"}))
    write_private(directory / f"Pulumi.{stack}.yaml", yaml.safe_dump({"encryptionsalt": SALT}))
    write_private(directory / "__main__.py", PROGRAM)
    write_private(directory / EXPORTS, requested)
    clear_stale_lock(home.backend, stack)
    ensure_stack(home, pulumi, stack, directory, env, project_name=project)
    _run(pulumi, ["up", "--yes", "--skip-preview", "--stack", stack], directory, env)
    write_private(exported, requested)


def _run(
    pulumi: Path, arguments: list[str], directory: Path, env: Mapping[str, str], *, given: str = ""
) -> None:
    with heeding_interrupts():
        done = subprocess.run(
            [str(pulumi), *arguments, "--non-interactive", "--color", "never"],
            cwd=directory,
            env=dict(env),
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        said = "\n".join(text.strip() for text in (done.stdout, done.stderr) if text.strip())
        raise RehearsalError(f"pulumi {arguments[0]} failed in {directory}:\n{said}")
