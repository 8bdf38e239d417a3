"""What every platform gives the rest of the stack: a cluster's provider and its kubeconfig."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes

from ..core.component import FleetComponent
from ..core.naming import logical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.plan import ClusterPlan

SecretReader = Callable[[str], pulumi.Output[str]]
"""Gives the secret configuration value of a key."""


class Platform(FleetComponent, ABC):
    """A cluster, wherever it lives; everything in it is its child."""

    provider: pulumi_kubernetes.Provider
    """The one way into the cluster. Every object in it names this provider, never a default one."""

    kubeconfig: pulumi.Output[str] | None
    """The kubeconfig's content, secret; None where the program never sees it."""

    @classmethod
    @abstractmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader) -> Declaration:
        """Read the secrets the plan names, and say how to declare the cluster. Makes no resource yet."""

    def enter(
        self,
        name: str,
        kubeconfig: pulumi.Input[str],
        *,
        context: str | None = None,
        after: Sequence[pulumi.Resource] = (),
    ) -> pulumi_kubernetes.Provider:
        """Declare the provider of what lives in this cluster, all of which is deleted before `after`."""
        return pulumi_kubernetes.Provider(
            logical(name, "kubernetes"),
            kubeconfig=kubeconfig,
            context=context,
            cluster_identifier=name if context is None else f"{name}/{context}",
            # Said aloud because the SDK would otherwise take them from whoever's environment it runs in.
            enable_server_side_apply=True,
            delete_unreachable=False,
            skip_update_unreachable=False,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(after)),
        )

    def member_opts(self, depends_on: Sequence[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
        """Options of a component that lives in this cluster."""
        return pulumi.ResourceOptions.merge(
            self.child_opts(), pulumi.ResourceOptions(providers=[self.provider], depends_on=list(depends_on))
        )


Declaration = Callable[[pulumi.ResourceOptions | None], Platform]
"""Declares one cluster."""
