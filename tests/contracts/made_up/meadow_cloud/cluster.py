"""A cluster of Meadow, with its pools, as this program declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from meadow_cloud.resources import CLUSTER, POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    # The type checker reads the folders of a checkout where they stand.
    from components.clouds.logins import Logins, kubeconfig_with
    from components.clouds.platform import ClusterArgs, Declaration, Platform, SecretReader
    from components.core.identity import logical
    from dra_fleet.model.plan import PoolPlan
else:
    from dra_fleet.components.clouds.logins import kubeconfig_with
    from dra_fleet.components.clouds.platform import Platform
    from dra_fleet.components.core.identity import logical


class ControlPlane(pulumi.CustomResource):
    """Meadow's own cluster, which reports its address and authority."""

    name: pulumi.Output[str]
    server: pulumi.Output[str]
    authority: pulumi.Output[str]


@dataclass(frozen=True, kw_only=True)
class MeadowClusterArgs:
    """Arguments of a cluster of Meadow.

    Attributes:
        kubernetes: the minor it runs, such as "1.36".
        pools: the planned pools.
        logins: those of the whole program, where there is one.
    """

    kubernetes: str
    pools: Sequence[PoolPlan]
    logins: Logins | None = None


class MeadowCluster(Platform):
    """A cluster of Meadow."""

    TOKEN = "dra-fleet:clouds:MeadowCluster"  # noqa: S105 - a type token

    def __init__(
        self, name: str, args: MeadowClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Declare the control plane, its pools, and the way into it."""
        super().__init__(name, {"cloud": "meadow", "kubernetes": args.kubernetes}, opts)
        meadow = pulumi.ProviderResource(
            "meadow", logical(name, "meadow"), {}, pulumi.ResourceOptions(parent=self, version="1.0.0")
        )
        self.admit(args.logins)
        own = self.child_opts(pulumi.ResourceOptions(provider=meadow))
        plane = ControlPlane(
            CLUSTER,
            name,
            {"name": name, "version": args.kubernetes, "server": None, "authority": None},
            own,
        )
        pools = [
            pulumi.CustomResource(POOL, logical(name, pool.name), _pool(plane, pool), own)
            for pool in args.pools
        ]
        kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(name, plane.server, plane.authority).apply(
                lambda output: login_kubeconfig(*output)
            )
        )
        provider = self.enter(name, kubeconfig, cluster=plane, after=[plane, *pools])
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, args: ClusterArgs, secret: SecretReader) -> Declaration:
        """Take the minor and the pools from the plan; it needs no secret."""
        del secret
        own = MeadowClusterArgs(kubernetes=args.plan.kubernetes, pools=args.plan.pools, logins=args.logins)
        return lambda opts: cls(args.plan.name, own, opts)


def _pool(plane: ControlPlane, plan: PoolPlan) -> dict[str, pulumi.Input[object]]:
    return {
        "cluster": plane.name,
        "name": plan.name,
        "machine": plan.machine.name,
        "nodes": plan.min_nodes,
        "labels": plan.labels,
    }


def login_kubeconfig(name: str, server: str, authority: str) -> str:
    """A kubeconfig that asks `meadow-login` for a token each time."""
    login = {"command": "meadow-login"}
    return kubeconfig_with(login, name, {"server": server, "certificate-authority-data": authority})
