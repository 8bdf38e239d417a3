"""EKS clusters: each is a control plane of the simulator, with the machines of its node groups."""

from __future__ import annotations

import base64
import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clouds.eks.simulation.account import DEFAULT, arn, full_version, made_id, refuse, refuse_jump
from dra_fleet.clouds.eks.simulation.group_nodes import group_machines
from dra_fleet.clouds.eks.simulation.instances import instance_machines
from dra_fleet.clouds.eks.simulation.network_types import SUBNET, VPC, Model, zone_of
from dra_fleet.clouds.eks.simulation.small_types import ADDON, CLUSTER, ENTRY, NODE_GROUP, POLICY, ROLE
from dra_fleet.rehearsal.clouds.account import free_name
from dra_fleet.rehearsal.clouds.cloud import at

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput
    from dra_fleet.rehearsal.simulator.node import NodeHardware

_MODEL: Final = Model(
    service="eks",
    operation="CreateCluster",
    names={"vpcConfig": "resourcesVpcConfig"},
    beside=frozenset({"defaultAddonsToRemoves", "enabledClusterLogTypes", "forceUpdateVersion"}),
)
_ZONES: Final = 2


class EksClusters:
    """The type `aws:eks/cluster:Cluster`.

    What replaces: https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/cluster.go
    """

    name_key = "name"
    required = ("roleArn", "vpcConfig")
    replacing = frozenset(
        {
            "accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons",
            "encryptionConfig.resources", "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr", "name", "outpostConfig", "roleArn",
        }
    )  # fmt: skip

    def __init__(self, account: EksAccount) -> None:
        self._account = account

    def faults(self, inputs: Properties) -> list[WrongInput]:
        return _MODEL.faults(inputs)

    def identifier(self, urn: str, inputs: Properties) -> str:
        """Return the cluster's name."""
        del urn
        return str(inputs["name"])

    async def create(self, record: Record) -> None:
        """Check, and start the control plane."""
        account, inputs = self._account, record["inputs"]
        minor = str(inputs.get("version") or DEFAULT)
        version = full_version(inputs.get("version"))
        self._check(record)
        refuse_taken = partial(refuse, "ResourceInUseException")
        record["simulator"] = record.get("simulator") or free_name(record["id"], account.planes, refuse_taken)
        record["state"] = {**inputs, "status": "CREATING"}
        account.put(record)
        await account.start_plane(record["simulator"], version)
        self._settle(record, minor)

    async def update(self, record: Record, news: Properties) -> None:
        """Change what can be changed in place; a newer minor restarts the control plane."""
        before, minor = str(record["state"]["version"]), str(news.get("version") or DEFAULT)
        version = full_version(news.get("version"))
        refuse_jump(before, minor)
        self._check({**record, "inputs": news})
        if minor != before:
            await self._account.upgrade_plane(record["simulator"], version)
        record["inputs"] = news
        self._settle(record, minor)

    async def delete(self, record: Record) -> None:
        """Stop the control plane. Add-ons and access entries go with it; node groups must be gone."""
        groups = [
            one for one in self._account.all(NODE_GROUP) if one["inputs"]["clusterName"] == record["id"]
        ]
        if groups:
            names = ", ".join(str(one["inputs"]["nodeGroupName"]) for one in groups)
            raise refuse(
                "ResourceInUseException", f"Cluster has nodegroups attached ({names}); delete them first"
            )
        await self._account.planes.stop(record["simulator"])
        for kind in (ADDON, ENTRY, POLICY):
            for one in self._account.all(kind):
                if one["inputs"]["clusterName"] == record["id"]:
                    self._account.remove(one)

    async def join(self, cluster: str) -> None:
        """Let exactly the machines of the cluster's node groups and its instances join; wait for them."""
        await self._account.planes.set_nodes(*self._machines(cluster))

    def place(self, cluster: str) -> None:
        """Let exactly the machines of the cluster's node groups and its instances join soon after."""
        self._account.planes.place_nodes(*self._machines(cluster))

    def _machines(self, cluster: str) -> tuple[str, str, list[NodeHardware]]:
        record = self.named(cluster)
        account = self._account
        minor = str(record["state"]["version"])
        nodes = [
            machine
            for group in account.all(NODE_GROUP)
            if group["inputs"]["clusterName"] == cluster and group["state"].get("status") != "DELETING"
            for machine in group_machines(account, group, minor)
        ]
        nodes += instance_machines(account, cluster, minor)
        return record["simulator"], f"v{full_version(minor)}", nodes

    def named(self, name: str) -> Record:
        """Return the cluster of that name.

        Raises:
            CloudRefusal: there is none.
        """
        found = self._account.find(CLUSTER, name)
        if found is None:
            raise refuse("ResourceNotFoundException", f"No cluster found for name: {name}.")
        return found

    def _check(self, record: Record) -> None:
        inputs = record["inputs"]
        role = str(inputs["roleArn"]).rpartition("/")[2]
        if str(inputs["roleArn"]).split(":")[4] == arn("", "", "").split(":")[4] and not self._account.find(
            ROLE, role
        ):
            raise refuse(
                "InvalidParameterException", f"Role with arn: {inputs['roleArn']} could not be found"
            )
        subnets = cast("list[str]", at(inputs, "vpcConfig.subnetIds") or [])
        zones = {zone_of(self._account, subnet, record["region"]) for subnet in subnets}
        if len(zones) < _ZONES:
            raise refuse(
                "InvalidParameterException",
                "Subnets specified must be in at least two different AZs; these are in "
                f"{', '.join(sorted(zones))}",
            )
        if at(inputs, "computeConfig.enabled"):
            raise refuse(
                "InvalidParameterException",
                "(rehearsal) EKS Auto Mode is not simulated; leave computeConfig out",
            )

    def _settle(self, record: Record, minor: str) -> None:
        server, authority = self._account.planes.address(record["simulator"])
        inputs, name = record["inputs"], record["id"]
        network = cast("dict[str, Any]", inputs["vpcConfig"])
        issuer = hashlib.sha256(record["urn"].encode()).hexdigest()[:32].upper()
        region = record["region"]
        record["state"] = {
            **inputs,
            "arn": arn("eks", region, f"cluster/{name}"),
            "certificateAuthority": {"data": base64.b64encode(authority).decode()},
            "createdAt": "2026-11-21T00:00:00Z",
            "endpoint": server,
            "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/{issuer}"}]}],
            "kubernetesNetworkConfig": {
                "ipFamily": "ipv4",
                "serviceIpv4Cidr": "172.20.0.0/16",
                **(inputs.get("kubernetesNetworkConfig") or {}),
            },
            "platformVersion": "eks.7",
            "status": "ACTIVE",
            "tagsAll": inputs.get("tags") or {},
            "version": minor,
            "vpcConfig": {
                **network,
                "clusterSecurityGroupId": made_id("sg", record["urn"]),
                "vpcId": self._vpc(network),
            },
        }
        self._account.put(record)

    def _vpc(self, network: dict[str, Any]) -> str:
        first = self._account.find(SUBNET, str(network["subnetIds"][0]))
        found = self._account.find(VPC, str(first["inputs"]["vpcId"])) if first else None
        return str(found["id"]) if found else made_id("vpc", str(network["subnetIds"][0]))
