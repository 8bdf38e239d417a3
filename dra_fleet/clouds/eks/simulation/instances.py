"""EC2 instances that Karpenter launches: each is a machine of the cluster that its tags name."""

from __future__ import annotations

import base64
import datetime as dt
import secrets
from email import message_from_bytes
from typing import TYPE_CHECKING, Final, cast

import yaml

from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.simulation.account import bucket, full_version, made_id, refuse
from dra_fleet.clouds.eks.simulation.group_nodes import DRIVER, RUNTIME, find_type, host_name
from dra_fleet.clouds.eks.simulation.network_types import zone_of
from dra_fleet.clouds.eks.simulation.node_groups import vcpus_in_use
from dra_fleet.clouds.eks.simulation.small_types import INSTANCE
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.simulator.hardware_file import node
from dra_fleet.rehearsal.simulator.node import NodeHardware, NodeTaint

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties

CLUSTER_TAG: Final = "eks:eks-cluster-name"
_CONFIG: Final = "application/node.eks.aws"


def image_id(ami: str) -> str:
    """Return the id of the newest image of an AMI type."""
    return made_id("ami", ami)


def ami_of(identifier: str) -> str:
    """Return the AMI type of an image; CUSTOM if EKS does not publish it."""
    return next((one.name for one in eks_facts().images if image_id(one.name) == identifier), "CUSTOM")


def launch(account: EksAccount, region: str, template: Properties, override: Properties) -> Record:
    """Start an instance.

    Args:
        account: The account.
        region: Its region.
        template: Launch template: `UserData`, `spot`, and the `tags` of the request.
        override: Type, subnet and image of the request's override.

    Raises:
        CloudRefusal: The quota is used up, or no machine of the type is left.
    """
    name, spot = str(override["InstanceType"]), bool(template["spot"])
    zone = zone_of(account, str(override["SubnetId"]), region)
    kind = find_type(name)
    if kind is None:
        raise refuse("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
    within = bucket(name, spot=spot)
    quota = account.limits.quotas.get(within)
    if quota is not None and vcpus_in_use(account, within) + kind.cpus > quota:
        raise refuse(
            "VcpuLimitExceeded",
            f"You have requested more vCPU capacity than your current vCPU limit of {quota} allows for the "
            f"instance bucket {within} that the specified instance type belongs to.",
        )
    if account.limits.is_out_of_stock(name, zone):
        raise refuse(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {name} capacity in the Availability Zone you requested "
            f"({zone}).",
        )
    identifier = f"i-0{secrets.token_hex(8)}"
    inputs = {
        "cluster": template["tags"][CLUSTER_TAG],
        "type": name,
        "zone": zone,
        "subnet": override["SubnetId"],
        "image": override.get("ImageId") or template["ImageId"],
        "userData": template["UserData"],
        "groups": template["groups"],
        "spot": spot,
        "tags": template["tags"],
    }
    now = dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    record = {
        "id": identifier,
        "type": INSTANCE,
        "urn": identifier,
        "region": region,
        "inputs": inputs,
        "state": {"launchTime": now},
    }
    account.put(record)
    return record


def instance_machines(account: EksAccount, cluster: str, minor: str) -> list[NodeHardware]:
    """Return the machines of a cluster's instances."""
    found = [one for one in account.all(INSTANCE) if one["inputs"]["cluster"] == cluster]
    return [_machine(one, minor) for one in found]


def _machine(record: Record, minor: str) -> NodeHardware:
    inputs, region = record["inputs"], str(record["region"])
    kind, ami = find_type(inputs["type"]), ami_of(inputs["image"])
    if kind is None:
        raise CloudRefusal(f"instance {record['id']} has an unknown type {inputs['type']}")
    labels, taints = _kubelet(str(inputs["userData"]))
    image = eks_facts().image(ami)
    has_driver = kind.gpu is not None and image is not None and image.nvidia
    if has_driver and image is not None and image.labels_gpus:
        labels["nvidia.com/gpu.present"] = "true"
    return node(
        name=host_name(record["id"], 0, region),
        machine=kind.machine,
        cpu=str(kind.cpus),
        memory=f"{kind.memory_gib}Gi",
        kubelet=f"v{full_version(minor)}",
        provider_id=f"aws:///{inputs['zone']}/{record['id']}",
        labels={
            "kubernetes.io/arch": kind.arch,
            "node.kubernetes.io/instance-type": kind.name,
            "topology.kubernetes.io/region": region,
            "topology.kubernetes.io/zone": inputs["zone"],
            **labels,
        },
        taints=taints,
        nvidia={"driverVersion": DRIVER, "runtime": RUNTIME} if has_driver else None,
    )


def _kubelet(user_data: str) -> tuple[dict[str, str], tuple[NodeTaint, ...]]:
    """Return the labels and taints with which nodeadm lets the kubelet register its node."""
    parts = message_from_bytes(base64.b64decode(user_data)).walk()
    texts = [
        cast("bytes", part.get_payload(decode=True)) for part in parts if part.get_content_type() == _CONFIG
    ]
    labels: dict[str, str] = {}
    taints: list[NodeTaint] = []
    for text in texts:
        config = cast("dict[str, Properties]", yaml.safe_load(text))
        kubelet = cast("Properties", config["spec"].get("kubelet") or {})
        for flag in cast("list[str]", kubelet.get("flags") or []):
            name, _, value = flag.partition("=")
            if name == "--node-labels":
                labels |= dict(item.split("=", 1) for item in value.strip('"').split(",") if item)
        registered = cast("Properties", kubelet.get("config") or {}).get("registerWithTaints")
        taints += [
            NodeTaint(key=one["key"], value=one.get("value") or "", effect=one["effect"])
            for one in cast("list[Properties]", registered or [])
        ]
    return labels, tuple(taints)
