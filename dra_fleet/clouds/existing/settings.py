"""Clusters that exist already: bare metal, or made by someone else."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.clouds.settings import CommonClusterSettings, PoolSettings
from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.model.settings import KubeconfigSource


class ExistingClusterSettings(CommonClusterSettings):
    """An existing cluster. Its nodes are selected by labels and not created."""

    cloud: Literal["existing"]
    kubeconfig: Annotated[KubeconfigSource, Field(description="Source of the kubeconfig")]
    provider: Annotated[
        Literal["CoreWeave"] | None,
        Field(description="Provider whose managed DRA drivers pools use with `advertise: managed`"),
    ] = None
    feature_gates: Annotated[
        tuple[Literal["GenericWorkload", "GangScheduling", "DRAWorkloadResourceClaims"], ...],
        Field(
            description=(
                "Feature gates for gangs that the API server, controller manager and scheduler of the "
                "cluster have on. Default: none"
            )
        ),
    ] = ()
    pools: Annotated[Mapping[DnsLabel, PoolSettings], Field(min_length=1)]
