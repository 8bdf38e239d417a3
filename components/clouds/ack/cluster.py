"""A cluster of Alibaba Cloud's Container Service for Kubernetes, created or adopted, with its GPU node pools.

Nothing secret gets into the state: the kubeconfig asks `ack-ram-tool` for each token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pulumi
import pulumi_alicloud
from pulumi_alicloud import cs

from dra_fleet.core.findings.errors import SettingsError, under

from ...core.naming import logical
from ..adopting import readable
from ..logins import of_account
from ..platform import Platform, cluster_opts
from .arguments import cluster_arguments, pool_arguments
from .kubeconfig import login_kubeconfig
from .network import small_network

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulumi_alicloud.cs.outputs import (
        GetManagedKubernetesClustersClusterConnectionResult,
        GetManagedKubernetesClustersClusterResult,
        ManagedKubernetesConnection,
    )

    from dra_fleet.clouds.ack.cluster_plan import AckClusterPlan, AckCreation, AckPoolPlan
    from dra_fleet.model.plan import ClusterPlan

    from ..logins import Logins
    from ..platform import Declaration, SecretReader

_VSWITCH = "the id of a vSwitch"
_MINUTES = 15
"""The shortest that a credential is issued for. Of it the authority alone is kept."""


@dataclass(frozen=True, kw_only=True)
class AckClusterArgs:
    """What an ACK cluster takes.

    Attributes:
        plan: what Alibaba Cloud is asked for.
        logins: those of the whole program, where there is one.
    """

    plan: AckClusterPlan
    logins: Logins | None = None


@dataclass(frozen=True, kw_only=True)
class _AckPlace:
    """A cluster as its node pools see it. `after`: what must be there before pods run in it.

    `made`: the cluster, None where it is adopted.
    """

    id: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    vswitches: Mapping[str, pulumi.Input[str]]
    made: cs.ManagedKubernetes | None
    after: list[pulumi.Resource]


class AckCluster(Platform):
    """An ACK cluster. Its control plane is protected with the component; node pools come and go."""

    TOKEN = "dra-fleet:clouds:AckCluster"  # noqa: S105 - a type token

    def __init__(self, name: str, args: AckClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = args.plan
        super().__init__(
            name,
            {
                "cloud": "ack",
                "kubernetes": plan.version,
                "region": plan.region,
                "adopted": plan.creates is None,
            },
            opts,
        )
        alibaba = pulumi_alicloud.Provider(
            logical(name, "alicloud"),
            region=plan.region,
            account_id=plan.account,
            opts=pulumi.ResourceOptions(parent=self, replacement_trigger=plan.region),
        )
        self.admit(args.logins, self._login(name, plan, alibaba))
        # Protected with the component: these options are its own, not those of what lives in the cluster.
        # The provider takes another region for a mere update, and looks there for what it made in the first.
        own = pulumi.ResourceOptions(
            parent=self, provider=alibaba, depends_on=self._after, replacement_trigger=plan.region
        )
        place = (
            self._adopted(name, plan, own)
            if plan.creates is None
            else self._created(name, plan, plan.creates, own)
        )
        pools = [self._pool(name, pool, place, alibaba) for pool in plan.pools]
        kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(
                id=place.id, endpoint=place.endpoint, authority=self._authority(place, alibaba)
            ).apply(
                lambda told: login_kubeconfig(
                    name, told["id"], plan.region, told["endpoint"], told["authority"]
                )
            )
        )
        provider = self.enter(
            name, kubeconfig, cluster=place.made or (place.id,), after=[*place.after, *pools]
        )
        self.publish(provider=provider, kubeconfig=kubeconfig)

    @classmethod
    def planned(cls, plan: ClusterPlan, secret: SecretReader, logins: Logins) -> Declaration:
        """Take what Alibaba Cloud is asked for; it needs no secret."""
        del secret
        args = AckClusterArgs(plan=cast("AckClusterPlan", plan.own), logins=logins)
        return lambda opts: cls(plan.name, args, opts)

    def _login(
        self, name: str, plan: AckClusterPlan, alibaba: pulumi_alicloud.Provider
    ) -> pulumi.Output[str] | None:
        if plan.account is None:
            return None
        asked = pulumi_alicloud.get_caller_identity_output(
            opts=pulumi.InvokeOutputOptions(parent=self, provider=alibaba)
        )
        return of_account(
            asked,
            lambda told: told.account_id,
            name,
            "account",
            plan.account,
            known_as="Alibaba Cloud account",
        )

    def _adopted(self, name: str, plan: AckClusterPlan, own: pulumi.ResourceOptions) -> _AckPlace:
        adopted = plan.adopts or plan.name
        asked = cs.get_managed_kubernetes_clusters_output(
            ids=pulumi.Output.from_input(self.elsewhere.text(adopted, "the cluster's id")).apply(
                lambda known: [known]
            ),
            enable_details=True,
            opts=pulumi.InvokeOutputOptions(parent=self, provider=own.provider),
        )
        found = readable(
            asked,
            name,
            known_as=f"ACK cluster {adopted} in region {plan.region}",
            listing=f"aliyun cs DescribeClustersV1 --region {plan.region}",
            permission="the permission cs:DescribeClusterDetail",
        ).apply(lambda told: _only(name, plan, told.clusters))
        return _AckPlace(
            # Its node pools wait for the answer: none is asked for in a cluster that is not there.
            id=found.apply(lambda cluster: cluster.id),
            endpoint=found.apply(lambda cluster: _address(cluster.connections)),
            vswitches=self.elsewhere.texts(plan.vswitches, _VSWITCH),
            made=None,
            after=[],
        )

    def _created(
        self, name: str, plan: AckClusterPlan, creation: AckCreation, own: pulumi.ResourceOptions
    ) -> _AckPlace:
        network = creation.network
        vswitches = (
            self.elsewhere.texts(plan.vswitches, _VSWITCH)
            if network is None
            else small_network(name, network, own)
        )
        cluster = cs.ManagedKubernetes(
            name,
            cluster_arguments(plan, creation, [vswitches[zone] for zone in sorted(vswitches)]),
            opts=cluster_opts(own),
        )
        system = cs.NodePool(
            logical(name, creation.system.key),
            pool_arguments(creation.system, cluster.id, vswitches),
            opts=own,
        )
        return _AckPlace(
            id=cluster.id,
            endpoint=cluster.connections.apply(_address),
            vswitches=vswitches,
            made=cluster,
            after=[cluster, system],
        )

    def _pool(
        self, name: str, pool: AckPoolPlan, place: _AckPlace, alibaba: pulumi_alicloud.Provider
    ) -> cs.NodePool:
        # ACK renames a pool in place; its name says what needs new nodes.
        opts = pulumi.ResourceOptions(
            provider=alibaba, depends_on=place.after, replace_on_changes=["nodePoolName"]
        )
        return cs.NodePool(
            logical(name, pool.key),
            pool_arguments(pool, place.id, place.vswitches),
            opts=self.child_opts(opts),
        )

    def _authority(self, place: _AckPlace, alibaba: pulumi_alicloud.Provider) -> pulumi.Output[str]:
        told = cs.get_cluster_credential_output(
            cluster_id=place.id,
            temporary_duration_minutes=_MINUTES,
            opts=pulumi.InvokeOutputOptions(
                parent=self, provider=alibaba, depends_on=None if place.made is None else [place.made]
            ),
        )
        return told.certificate_authorities.apply(lambda authorities: authorities[0].cluster_cert)


def _only(
    name: str, plan: AckClusterPlan, found: Sequence[GetManagedKubernetesClustersClusterResult]
) -> GetManagedKubernetesClustersClusterResult:
    """The cluster of an id; the cloud lists none where there is none."""
    if found:
        return found[0]
    error = SettingsError(
        path=under("clusters", name, "adopt"),
        what=f"ACK has no such cluster in region {plan.region}",
        got=str(plan.adopts),
        allowed="a cluster that is there and that your login may read",
        fix=f"look for it with `aliyun cs DescribeClustersV1 --region {plan.region}`",
    )
    raise pulumi.RunError(str(error))


def _address(
    told: Sequence[ManagedKubernetesConnection | GetManagedKubernetesClustersClusterConnectionResult],
) -> str:
    """The public address of an API server, where it has one, else the private one."""
    return next((each.api_server_internet or each.api_server_intranet or "" for each in told), "")
