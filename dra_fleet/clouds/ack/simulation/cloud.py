"""The simulated Alibaba Cloud: resource types and functions of the alicloud plugin."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from typing_extensions import override

from dra_fleet.clouds.ack.simulation import GET_CREDENTIAL
from dra_fleet.clouds.ack.simulation.account import (
    ACCOUNT,
    ADDON,
    CLUSTER,
    INVALID,
    POOL,
    AckAccount,
    made_id,
    refuse,
    region_of,
)
from dra_fleet.clouds.ack.simulation.aliyun_answers import commands, deny
from dra_fleet.clouds.ack.simulation.clusters import AckClusters
from dra_fleet.clouds.ack.simulation.node_pools import AckNodePools
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import CheckedInputs, TypeNotCoveredError
from dra_fleet.rehearsal.clouds.commands import answer
from dra_fleet.rehearsal.clouds.neighbours import NeighbourType, neighbours
from dra_fleet.rehearsal.clouds.typed_cloud import TypedCloud, made_of, missing_faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import CloudRefusal, PluginResource, Properties
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store


class AckResourceType(typed_cloud.ResourceType, Protocol):
    """One type; `name_key` is the input with its name, which is made up where none is given."""

    @property
    def name_key(self) -> str | None: ...  # noqa: D102 - see above

    def identifier(self, scope: str, inputs: Properties, /) -> str:
        """The id the inputs lead to; `scope` are characters of the declaration's own."""
        ...


GET_CALLER: Final = "alicloud:index/getCallerIdentity:getCallerIdentity"
GET_CLUSTERS: Final = "alicloud:cs/getManagedKubernetesClusters:getManagedKubernetesClusters"
GET_POOLS: Final = "alicloud:cs/getKubernetesNodePools:getKubernetesNodePools"
TOKEN_VALID: Final = timedelta(minutes=15)
"""https://github.com/AliyunContainerService/ack-ram-tool, `pkg/ramauthenticator`."""
_DIGITS: Final = 7


class SimulatedAck(TypedCloud[AckAccount, AckResourceType]):
    """The types that a rehearsed program declares, and ACK's functions."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = AckAccount(store, planes)
        self._clusters = AckClusters(account)

        def in_cluster(record: Record) -> None:
            if record["type"] == ADDON:
                self._clusters.of_id(str(record["inputs"]["clusterId"]))

        types: dict[str, AckResourceType] = {
            kind: NeighbourType(account=account, facts=facts, needs=in_cluster)
            for kind, facts in neighbours("ack").items()
        }
        types |= {CLUSTER: self._clusters, POOL: AckNodePools(account, self._clusters)}
        super().__init__(account, types)

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Complete and check inputs: a made name, the provider's schema and its listed values."""
        kind = self.kind_of(resource)
        inputs = dict(news)
        name = kind.name_key
        if name is not None and inputs.get(name) is None and inputs.get("name") is None:
            inputs[name] = olds.get(name) or f"{resource.name}-{digits[:_DIGITS]}"
        failures = missing_faults(kind, inputs) or kind.faults(inputs)
        return CheckedInputs(inputs=inputs, failures=failures)

    @override
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        told = made_of(resource, region_of(resource.config), inputs)
        return self.kind_of(resource).identifier(made_id("", told), inputs)

    @override
    def begun(self, resource: PluginResource) -> Record:
        return {"region": region_of(resource.config), "state": {}}

    @override
    def taken(self, identifier: str) -> CloudRefusal:
        return refuse(
            "EntityAlreadyExists", f"{identifier} already exists; import it, or choose another name"
        )

    @override
    def absent(self, identifier: str) -> CloudRefusal:
        return refuse("NotFound", f"{identifier} does not exist any more")

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """Answer a function: the login, clusters by id or name, the pools of one, or how to log in to it."""
        if token == GET_CALLER:
            account = self.account.limits.login or str(config.get("accountId") or ACCOUNT)
            return {"id": account, "accountId": account, "arn": f"acs:ram::{account}:user/rehearsal"}
        if token == GET_CREDENTIAL:
            return self._clusters.credential(self._clusters.of_id(str(arguments.get("clusterId"))))
        if token == GET_CLUSTERS:
            return self._found_clusters(arguments)
        if token == GET_POOLS:
            return self._found_pools(arguments)
        known = [GET_CALLER, GET_CLUSTERS, GET_CREDENTIAL, GET_POOLS]
        raise TypeNotCoveredError(self.account.title, "function", token, known)

    def _found_clusters(self, arguments: Properties) -> Properties:
        wanted, pattern = arguments.get("ids"), str(arguments.get("nameRegex") or "")
        clusters = [
            {**record["state"], "id": record["id"], "state": "running"}
            for record in self.account.all(CLUSTER)
            if not (wanted and record["id"] not in wanted)
            and re.search(pattern, str(record["inputs"]["name"]))
        ]
        return {
            **arguments,
            "id": made_id("", *(cluster["id"] for cluster in clusters)),
            "ids": [cluster["id"] for cluster in clusters],
            "names": [cluster["name"] for cluster in clusters],
            "clusters": clusters,
        }

    def _found_pools(self, arguments: Properties) -> Properties:
        cluster = self._clusters.of_id(str(arguments.get("clusterId")))
        pools = [record["state"] for record in self.account.all(POOL, f"{cluster['id']}:")]
        ids = [pool["nodePoolId"] for pool in pools]
        return {**arguments, "id": cluster["id"], "ids": ids, "nodepools": pools}

    @override
    def command(self, words: Sequence[str]) -> object:
        """What `aliyun` prints."""
        return answer(words, commands(self.account), self.account.limits.denied, deny)

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """The token `ack-ram-tool` prints. As in reality nobody asks whether the cluster is there."""
        if not arguments.get("clusterId"):
            raise refuse(INVALID, 'required flag(s) "cluster-id" not set')
        return self.account.credential(TOKEN_VALID)
