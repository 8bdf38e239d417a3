"""Current and requested numbers of nodes of a cluster's node groups.

Groups are listed first, because DescribeNodegroup fails for a missing group.
Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_ListNodegroups.html
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pulumi
from pulumi_aws import eks

from ..sizing import asked_for

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class GroupSizes:
    """Asks AWS for the sizes of a cluster's node groups, once anything wants to know.

    Attributes:
        cluster: its name in AWS.
        made: the cluster, None where it is adopted. AWS is not asked in a preview before it is there.
        parent: the component that asks.
        provider: the cluster's.
    """

    cluster: pulumi.Input[str]
    made: pulumi.Resource | None
    parent: pulumi.Resource
    provider: pulumi.ProviderResource | None

    def desired(self, group: str, least: int, most: int) -> pulumi.Input[int]:
        """Return the requested number of nodes of a group.

        Args:
            group: its name in AWS.
            least: the fewest nodes.
            most: the most nodes.
        """
        if least == most:
            return least
        return self._names.apply(lambda names: self._live(group, names)).apply(
            lambda live: asked_for(live, (least, most))
        )

    @cached_property
    def _names(self) -> pulumi.Output[Sequence[str]]:
        return eks.get_node_groups_output(cluster_name=self.cluster, opts=self._opts).names

    def _live(self, group: str, names: Sequence[str]) -> pulumi.Output[int | None]:
        if group not in names:
            return pulumi.Output.from_input(None)
        found = eks.get_node_group_output(
            cluster_name=self.cluster, node_group_name=group, opts=self._opts
        ).scaling_configs
        return found.apply(lambda scaling: scaling[0].desired_size)

    @property
    def _opts(self) -> pulumi.InvokeOutputOptions:
        return pulumi.InvokeOutputOptions(
            parent=self.parent,
            provider=self.provider,
            depends_on=None if self.made is None else [self.made],
        )
