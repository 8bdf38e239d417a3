"""Clusters that exist already: bare metal, or made by somebody else."""

from __future__ import annotations

from typing import Literal

from fleet.settings.cluster import CommonClusterSettings
from fleet.settings.kubeconfig import KubeconfigSource


class ExistingClusterSettings(CommonClusterSettings):
    """A cluster reached through a kubeconfig; its nodes are selected by label, never created."""

    cloud: Literal["existing"]
    kubeconfig: KubeconfigSource
