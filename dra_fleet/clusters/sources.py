"""Opens the kubeconfig of a stack's cluster: a file's context, a secret of the stack, or a stack's output.

Secrets are read through the engine with the caller's own login and kept in memory only.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, cast

from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig
from dra_fleet.core.places import project
from dra_fleet.model.settings import KubeconfigFile, KubeconfigSecret

if TYPE_CHECKING:
    from lightkube.config.kubeconfig import SingleConfig

    from dra_fleet.model.plan import ClusterPlan


def open_kubeconfig(cluster: ClusterPlan, stack: str) -> SingleConfig:
    """Open the kubeconfig of a cluster, see `kubeconfig_of`."""
    return read_kubeconfig(*kubeconfig_of(cluster, stack))


def kubeconfig_of(cluster: ClusterPlan, stack: str) -> tuple[str | None, str | None]:
    """Where the kubeconfig of a cluster is, or its text; and the context, None for its current one.

    Args:
        cluster: one of the stack's clusters.
        stack: the stack whose secrets or outputs hold the kubeconfig, if they do.

    Raises:
        KubeconfigError: it cannot be had.
    """
    source = cluster.kubeconfig
    if source is None:
        return _exported(cluster.name, stack), None
    if isinstance(source, KubeconfigFile):
        return source.file, source.context
    if isinstance(source, KubeconfigSecret):
        return _pulumi("config", "get", source.secret, "--stack", stack), None
    return _pulumi("stack", "output", source.output, "--show-secrets", "--stack", source.stack), None


def _exported(cluster: str, stack: str) -> str:
    """The kubeconfig of a cluster that the stack makes or adopts: the program exports it once it ran."""
    text = _pulumi("stack", "output", "--json", "--show-secrets", "--stack", stack)
    exported = cast("dict[str, dict[str, str]]", json.loads(text)).get("kubeconfigs", {})
    if cluster not in exported:
        raise KubeconfigError(
            f"stack {stack} has not made cluster {cluster} yet, so there is nothing to look at; "
            "run pulumi up first"
        )
    return exported[cluster]


def _pulumi(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=project(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise KubeconfigError(
            f"Pulumi keeps the kubeconfig, and pulumi cannot be started: {error.strerror}; put it on PATH"
        ) from error
    if done.returncode != 0:
        raise KubeconfigError(f"pulumi {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout
