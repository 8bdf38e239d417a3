"""Current and requested numbers of nodes of an AKS cluster's pools, and their subnet.

Azure is queried before the cluster is declared, because the cluster includes the system pool's number: each
update sends it again, and a system pool that the autoscaler has grown must not shrink by it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pulumi
import pulumi_azure_native.containerservice as aks

from dra_fleet.core.findings.errors import SettingsError, under

from ..logins import words
from ..sizing import asked_for

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABSENT = re.compile(r'Code="(?:Resource|ResourceGroup)?NotFound"')
"""The codes by which the plugin itself reports that something is not there.

https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/azure/azure.go
"""


@dataclass(frozen=True, kw_only=True)
class _Live:
    """Pools of a cluster as Azure has them: nodes by pool, and the subnet of the system pool."""

    counts: Mapping[str, int]
    subnet: str | None


@dataclass(frozen=True, kw_only=True)
class PoolSizes:
    """Asks Azure for the sizes of a cluster's pools, once anything wants to know.

    Attributes:
        cluster: its name in the stack file.
        group: the name of its resource group.
        name: its name in Azure.
        made: its resource group, None where the cluster is adopted. Azure is not asked in a preview before
            the group is there.
        parent: the component that asks.
        provider: the cluster's.
    """

    cluster: str
    group: pulumi.Input[str]
    name: pulumi.Input[str]
    made: pulumi.Resource | None
    parent: pulumi.Resource
    provider: pulumi.ProviderResource | None

    def requested(self, pool: str, least: int, most: int) -> pulumi.Input[int]:
        """Return the requested number of nodes of a pool.

        Args:
            pool: its name in Azure.
            least: the fewest nodes.
            most: the most nodes.
        """
        if least == most:
            return least
        return self._live.apply(lambda live: asked_for(live.counts.get(pool), (least, most)))

    @property
    def subnet(self) -> pulumi.Output[str | None]:
        """The subnet of the system pool; None if AKS made the cluster's network."""
        return self._live.apply(lambda live: live.subnet)

    @cached_property
    def _live(self) -> pulumi.Output[_Live]:
        found = aks.get_managed_cluster_output(
            resource_group_name=self.group,
            resource_name=self.name,
            opts=pulumi.InvokeOutputOptions(
                parent=self.parent,
                provider=self.provider,
                depends_on=None if self.made is None else [self.made],
            ),
        )
        return found.apply(_live_pools).recover(self._nothing)

    def _nothing(self, refused: Exception) -> _Live:
        """Return no pool for a missing cluster; any other refusal ends the program."""
        if _ABSENT.search(str(refused)):
            return _Live(counts={}, subnet=None)
        if isinstance(refused, pulumi.RunError):
            raise refused
        error = SettingsError(
            path=under("clusters", self.cluster),
            what="the numbers of nodes that its autoscaled pools have cannot be read",
            got=words(refused),
            allowed="a cluster that your login may read",
            fix="ask for the permission Microsoft.ContainerService/managedClusters/read",
        )
        raise pulumi.RunError(str(error)) from refused


def _live_pools(cluster: aks.GetManagedClusterResult) -> _Live:
    pools = cluster.agent_pool_profiles or ()
    system = [pool.vnet_subnet_id for pool in pools if pool.mode == "System"]
    return _Live(
        counts={pool.name: pool.count or 0 for pool in pools}, subnet=next(filter(None, system), None)
    )
