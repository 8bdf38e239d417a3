"""The simulated AWS as the world sees it: one answer for each call of a plugin."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from dra_fleet.clouds.eks.simulation.account import EksAccount, account_of, refuse, region_of
from dra_fleet.clouds.eks.simulation.aws_answers import commands, deny
from dra_fleet.clouds.eks.simulation.clusters import EksClusters
from dra_fleet.clouds.eks.simulation.network_types import EksResourceType, network_types
from dra_fleet.clouds.eks.simulation.node_groups import NodeGroups
from dra_fleet.clouds.eks.simulation.small_types import CLUSTER, NODE_GROUP, small_types
from dra_fleet.rehearsal.clouds.cloud import CheckedInputs, TypeNotCoveredError, UpdateDiff
from dra_fleet.rehearsal.clouds.commands import answer
from dra_fleet.rehearsal.clouds.typed_cloud import TypedCloud, made_of, missing_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, PluginResource, Properties
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store

GET_CLUSTER: Final = "aws:eks/getCluster:getCluster"
GET_GROUPS: Final = "aws:eks/getNodeGroups:getNodeGroups"
GET_CALLER: Final = "aws:index/getCallerIdentity:getCallerIdentity"
GET_GROUP: Final = "aws:eks/getNodeGroup:getNodeGroup"
TOKEN_VALID: Final = timedelta(minutes=14)
"""https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html"""
_DIGITS: Final = 7
_IAM: Final = "aws:iam/"


class SimulatedEks(TypedCloud[EksAccount, EksResourceType]):
    """The types that a rehearsed program declares, and EKS's function."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = EksAccount(store, planes)
        clusters = EksClusters(account)
        types: dict[str, EksResourceType] = {
            CLUSTER: clusters,
            NODE_GROUP: NodeGroups(account, clusters),
            **network_types(account),
            **small_types(account),
        }
        super().__init__(account, types)

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Complete and check inputs: a made name, shapes, enums and patterns of the API."""
        kind = self.kind_of(resource)
        inputs = dict(news)
        if kind.name_key is not None and inputs.get(kind.name_key) is None:
            inputs[kind.name_key] = olds.get(kind.name_key) or f"{resource.name}-{digits[:_DIGITS]}"
        failures = missing_faults(kind, inputs) or kind.faults(inputs)
        return CheckedInputs(inputs=inputs, failures=failures)

    @override
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        told = made_of(resource, region_of(resource.config), inputs)
        return self.kind_of(resource).identifier(told, inputs)

    @override
    def diff(self, resource: PluginResource, olds: Properties, news: Properties) -> UpdateDiff:
        """Compare old and new inputs; in another region, all but what IAM holds is another resource.

        https://hashicorp.github.io/terraform-provider-aws/enhanced-region-support
        """
        change = super().diff(resource, olds, news)
        record = self.account.find(resource.type, resource.identifier)
        stays = record is None or record["region"] == region_of(resource.config)
        moved = [] if stays or resource.type.startswith(_IAM) else ["region"]
        return UpdateDiff(
            changed=[*change.changed, *moved],
            replacing=[*change.replacing, *moved],
            beside=self.identify(resource, news) != resource.identifier,
        )

    @override
    def begun(self, resource: PluginResource) -> Record:
        return {"region": region_of(resource.config), "state": {}}

    @override
    def taken(self, identifier: str) -> CloudRefusal:
        return refuse(
            "ResourceInUseException", f"{identifier} already exists; import it, or choose another name"
        )

    @override
    def absent(self, identifier: str) -> CloudRefusal:
        return refuse("ResourceNotFoundException", f"{identifier} does not exist any more")

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer a function: the login, a cluster, the names of its node groups, or one of them, as is."""
        if token == GET_CALLER:
            account = self.account.limits.login or account_of(config)
            user = f"arn:aws:iam::{account}:role/rehearsal"
            return {"id": account, "accountId": account, "arn": user, "userId": "rehearsal"}
        known = {GET_CLUSTER: "name", GET_GROUPS: "clusterName", GET_GROUP: "clusterName"}
        if token not in known:
            raise TypeNotCoveredError(self.account.title, "function", token, [GET_CALLER, *known])
        name = str(arguments.get(known[token]))
        cluster = self.account.find(CLUSTER, name)
        if cluster is None:
            raise refuse("ResourceNotFoundException", f"No cluster found for name: {name}.")
        if token == GET_CLUSTER:
            return _as_function(cluster)
        if token == GET_GROUPS:
            groups = [one["inputs"] for one in self.account.all(NODE_GROUP)]
            names = sorted(str(one["nodeGroupName"]) for one in groups if one["clusterName"] == name)
            return {"id": name, "clusterName": name, "names": names}
        return self._group(name, str(arguments.get("nodeGroupName")))

    def _group(self, cluster: str, name: str) -> Properties:
        record = self.account.find(NODE_GROUP, f"{cluster}:{name}")
        if record is None:
            raise refuse("ResourceNotFoundException", f"No node group found for name: {name}.")
        state = record["state"]
        return {**state, "id": record["id"], "scalingConfigs": [state["scalingConfig"]]}

    @override
    def command(self, words: Sequence[str]) -> object:
        """What `aws` prints."""
        return answer(words, commands(self.account), self.account.limits.denied, deny)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The token `aws eks get-token` prints. As in reality nobody asks whether the cluster is there."""
        if not arguments.get("clusterName"):
            raise refuse("ValidationException", "the following arguments are required: --cluster-name")
        return self.account.credential(TOKEN_VALID)


def _as_function(record: Record) -> dict[str, Any]:
    state = record["state"]
    return {
        **state,
        "id": record["id"],
        "name": record["id"],
        "certificateAuthorities": [state["certificateAuthority"]],
        "kubernetesNetworkConfigs": [state["kubernetesNetworkConfig"]],
    }
