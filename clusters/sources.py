"""Opens the kubeconfig a stack names: a file's context, a secret of the stack, or another stack's output.

Secrets are read through the engine with the caller's own login and kept in memory only.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from clusters.credentials import KubeconfigError, read_kubeconfig
from fleet.settings.kubeconfig import KubeconfigFile, KubeconfigSecret

if TYPE_CHECKING:
    from lightkube.config.kubeconfig import SingleConfig

    from fleet.settings.clusters import ClusterSettings

PROJECT = Path(__file__).resolve().parents[1]


def open_kubeconfig(settings: ClusterSettings, stack: str) -> SingleConfig:
    """Open the kubeconfig of an existing cluster.

    Args:
        settings: the cluster's section of the stack file.
        stack: the stack whose secrets hold the kubeconfig, if it is one.

    Raises:
        KubeconfigError: it cannot be had, or not be used.
    """
    source = settings.kubeconfig
    if source is None:
        raise KubeconfigError(
            "the stack makes this cluster itself and keeps no kubeconfig of it in its settings"
        )
    if isinstance(source, KubeconfigFile):
        return read_kubeconfig(source.file, source.context)
    if isinstance(source, KubeconfigSecret):
        return read_kubeconfig(_pulumi("config", "get", source.secret, "--stack", stack))
    return read_kubeconfig(
        _pulumi("stack", "output", source.output, "--show-secrets", "--stack", source.stack)
    )


def _pulumi(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=PROJECT,
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
