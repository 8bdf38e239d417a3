"""The made-up cloud, simulated: clusters, and pools whose machines join them."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.rehearsal.clouds.account import CloudAccount, free_name
from dra_fleet.rehearsal.clouds.cloud import CheckedInputs, CloudRefusal, TypeNotCoveredError
from dra_fleet.rehearsal.clouds.typed_cloud import ResourceType, TypedCloud, missing_faults
from dra_fleet.rehearsal.simulator.hardware_file import node
from meadow_cloud.limits import MeadowLimits
from meadow_cloud.resources import CLUSTER, POOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import PluginResource, Properties, WrongInput
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store

PATCH: Final = 0
VALID: Final = timedelta(hours=1)


class Account(CloudAccount[MeadowLimits]):
    """Records by type and name."""

    cloud = "meadow"
    title = "Meadow"
    model = MeadowLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return f"{kind}|{identifier}"

    @override
    def token_lines(self) -> str:
        return f'{self.token()},farmer,farmer,"system:masters"\n'


class Clusters:
    """Each is a control plane of the simulator."""

    required = ("name", "version")
    replacing = frozenset({"name"})

    def __init__(self, account: Account) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """None: this cloud takes everything."""
        del inputs
        return []

    async def create(self, record: Record) -> None:
        """Start the control plane."""
        account, inputs = self._account, record["inputs"]
        record["simulator"] = record.get("simulator") or free_name(
            str(inputs["name"]), account.planes, CloudRefusal
        )
        await account.start_plane(record["simulator"], f"{inputs['version']}.{PATCH}")
        server, authority = account.planes.address(record["simulator"])
        record["state"] = {**inputs, "server": server, "authority": base64.b64encode(authority).decode()}
        account.put(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Nothing of a cluster changes in place."""
        raise CloudRefusal(f"cluster {record['id']} cannot be changed to {news}")

    async def delete(self, record: Record) -> None:
        """Stop the control plane."""
        await self._account.planes.stop(record["simulator"])


class Pools:
    """Machines that join a cluster."""

    required = ("cluster", "name", "machine", "nodes")
    replacing = frozenset({"cluster", "name", "machine"})

    def __init__(self, account: Account) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """None: this cloud takes everything."""
        del inputs
        return []

    async def create(self, record: Record) -> None:
        """Let the machines join."""
        record["state"] = dict(record["inputs"])
        self._account.put(record)
        await self._join(str(record["inputs"]["cluster"]))

    async def update(self, record: Record, news: Properties) -> None:
        """Let more machines join, or some leave."""
        record["inputs"] = news
        await self.create(record)

    async def delete(self, record: Record) -> None:
        """Let the machines leave."""
        self._account.remove(record)
        await self._join(str(record["inputs"]["cluster"]))

    async def _join(self, name: str) -> None:
        cluster = self._account.find(CLUSTER, name)
        if cluster is None:
            raise CloudRefusal(f"no cluster {name}")
        pools = [pool["inputs"] for pool in self._account.all(POOL) if pool["inputs"]["cluster"] == name]
        nodes = [
            node(name=f"{pool['name']}-{number}", labels=_labels(pool), machine=pool["machine"])
            for pool in pools
            for number in range(int(pool["nodes"]))
        ]
        await self._account.planes.set_nodes(
            cluster["simulator"], f"v{cluster['inputs']['version']}.{PATCH}", nodes
        )


def _labels(pool: Properties) -> dict[str, str]:
    return {**(pool.get("labels") or {}), "node.kubernetes.io/instance-type": str(pool["machine"])}


class SimulatedMeadow(TypedCloud[Account, ResourceType]):
    """The two types."""

    def __init__(self, store: Store, planes: ManagedControlPlanes) -> None:
        account = Account(store, planes)
        super().__init__(account, {CLUSTER: Clusters(account), POOL: Pools(account)})

    def check(
        self, resource: PluginResource, olds: Properties, news: Properties, digits: str
    ) -> CheckedInputs:
        """Check inputs."""
        del olds, digits
        return CheckedInputs(inputs=news, failures=missing_faults(self.kind_of(resource), news))

    @override
    def identify(self, resource: PluginResource, inputs: Properties) -> str:
        if resource.type == POOL:
            return f"{inputs['cluster']}/{inputs['name']}"
        return str(inputs["name"])

    @override
    def begun(self, resource: PluginResource) -> Record:
        return {"state": {}}

    @override
    def taken(self, identifier: str) -> CloudRefusal:
        return CloudRefusal(f"{identifier} is there already")

    @override
    def absent(self, identifier: str) -> CloudRefusal:
        return CloudRefusal(f"{identifier} is not there")

    async def invoke(self, token: str, arguments: Properties, config: Properties) -> Properties:
        """There are no functions."""
        del arguments, config
        raise TypeNotCoveredError(self.account.title, "function", token, [])

    def credential(self, arguments: Mapping[str, object]) -> dict[str, str]:
        """Return the token."""
        del arguments
        return self.account.credential(VALID)
