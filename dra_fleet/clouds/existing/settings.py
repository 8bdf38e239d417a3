"""Clusters that exist already: bare metal, or made by somebody else."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.clouds.settings import CommonClusterSettings, PoolSettings
from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.model.settings import KubeconfigSource


class ExistingClusterSettings(CommonClusterSettings):
    """A cluster reached through a kubeconfig; its nodes are selected by label, never created."""

    cloud: Literal["existing"]
    kubeconfig: Annotated[KubeconfigSource, Field(description="Where the kubeconfig comes from")]
    pools: Annotated[Mapping[DnsLabel, PoolSettings], Field(min_length=1)]
