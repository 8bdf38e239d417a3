"""Instance types, and the nodes that a simulated node group makes of them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet import drivers
from dra_fleet.clouds.eks import CLOUD
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.simulation.account import full_version, made_id, refuse
from dra_fleet.clouds.eks.simulation.network_types import zone_of
from dra_fleet.clouds.eks.simulation.small_types import TEMPLATE
from dra_fleet.model.specs import stable_uuid
from dra_fleet.rehearsal.clouds.clusters import InstanceType, cpus_of, near
from dra_fleet.rehearsal.clouds.scaling import numbers_of
from dra_fleet.rehearsal.simulator.hardware_file import node
from dra_fleet.rehearsal.simulator.node import NodeHardware, NodeTaint

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties


_TYPE: Final = re.compile(r"(?P<family>[a-z])(?P<generation>\d+)(?P<traits>[a-z-]*)\.(?P<size>[a-z0-9]+)")
_GIB_PER_CPU: Final = {"m": 4, "r": 8, "c": 2, "t": 4}
"""https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html"""


class Ec2InstanceType(InstanceType, frozen=True):
    """An instance type of EC2."""

    @property
    def cards(self) -> int:
        """Number of network cards."""
        known = drivers.traits(CLOUD.machines[self.machine]).network_cards if self.machine else None
        return max(1, known.first + known.count if known else 0)


def find_type(name: str) -> Ec2InstanceType | None:
    known = CLOUD.machines.get(name)
    if known is not None:
        return Ec2InstanceType.of(known)
    match = _TYPE.fullmatch(name)
    if match is None or match["family"] not in _GIB_PER_CPU:
        return None
    cpus = cpus_of(match["size"])
    if cpus is None:
        return None
    arm = match["traits"].startswith("g")
    memory = cpus * _GIB_PER_CPU[match["family"]]
    return Ec2InstanceType(name=name, cpus=cpus, memory_gib=memory, arch="arm64" if arm else "amd64")


DRIVER: Final = "580.126.09"
"""Assumed patch level of the branch in EKS's images: seen on a P4d of a published example
(https://github.com/kubernetes-sigs/dranet, examples/aws_eks_examples)."""
EFFECTS: Final = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
RUNTIME: Final = "nvidia"
"""https://github.com/awslabs/amazon-eks-ami, nodeadm's containerd configuration of GPU nodes."""
DEFAULT_TYPE: Final = "t3.medium"
DEFAULT_AMI: Final = "AL2023_x86_64_STANDARD"
_PLUGIN_OFF: Final = re.compile(
    r"^\[settings\.kubelet-device-plugins\.nvidia\][^\[]*^enabled\s*=\s*false\s*$", re.MULTILINE | re.DOTALL
)


def template_of(account: EksAccount, group: Properties) -> Properties | None:
    """Return the launch template that a node group names, or None.

    Raises:
        CloudRefusal: there is no such template.
    """
    named = cast("Properties | None", group.get("launchTemplate"))
    if not named:
        return None
    found = account.find(TEMPLATE, str(named.get("id")))
    if found is None:
        raise refuse(
            "InvalidRequestException", f"Launch template {named.get('id') or named.get('name')} not found"
        )
    return cast("Properties", found["inputs"])


def type_of(account: EksAccount, group: Properties) -> Ec2InstanceType:
    """Return the instance type of a node group or of its launch template.

    Raises:
        CloudRefusal: there is none of that name.
    """
    template = template_of(account, group) or {}
    own = cast("list[str]", group.get("instanceTypes") or [])
    name = str(template.get("instanceType") or (own[0] if own else DEFAULT_TYPE))
    found = find_type(name)
    if found is None:
        raise refuse(
            "InvalidParameterException",
            f"The following supplied instance types do not exist: [{name}]; nearest known: "
            f"{near(name, CLOUD.machines)}. Add it to the catalogue of machines if it exists",
        )
    return found


def size_of(group: Properties) -> int:
    """Return the group's number of nodes."""
    scaling = cast("Properties", group.get("scalingConfig") or {})
    return int(scaling.get("desiredSize", scaling.get("minSize", 1)))


def zones_of(account: EksAccount, group: Properties, region: str) -> list[str]:
    """Return the zones of a group's subnets, in order."""
    subnets = cast("list[str]", group.get("subnetIds") or [])
    return sorted({zone_of(account, subnet, region) for subnet in subnets})


def group_machines(account: EksAccount, record: Record, minor: str) -> list[NodeHardware]:
    """All machines of a node group."""
    group, region = record["inputs"], str(record["region"])
    kind = type_of(account, group)
    zones = zones_of(account, group, region)
    template = template_of(account, group) or {}
    ami = str(group.get("amiType") or ("CUSTOM" if template.get("imageId") else DEFAULT_AMI))
    image = eks_facts().image(ami)
    plugin = image is not None and image.plugin and not _plugin_is_off(template)
    cards = cast("list[Properties]", template.get("networkInterfaces") or [])
    version = f"v{full_version(str(group.get('version') or record['state'].get('version') or minor))}"
    return [
        node(
            name=host_name(record["urn"], index, region),
            machine=kind.machine,
            cpu=str(kind.cpus),
            memory=f"{kind.memory_gib}Gi",
            kubelet=version,
            provider_id=f"aws:///{zones[index % len(zones)]}/{made_id('i', record['urn'], str(index))}",
            labels=_labels(record, kind, zones[index % len(zones)], ami),
            taints=tuple(_taint(item) for item in cast("list[Properties]", group.get("taints") or [])),
            nvidia=_driver(account, template, kind, ami),
            nics=sum(str(card.get("interfaceType") or "").startswith("efa") for card in cards),
            advertised={"nvidia.com/gpu": kind.gpus} if plugin and kind.gpus else {},
            clique=_clique(template, kind, index),
        )
        for index in numbers_of(group, size_of(group))
    ]


def _clique(template: Properties, kind: Ec2InstanceType, index: int) -> str | None:
    """Return the NVLink fabric of an UltraServer; a Capacity Block fills one fabric after the other."""
    facts = eks_facts().ultra_server
    if not kind.name.startswith(facts.machines):
        return None
    reported = cast("Properties", template.get("capacityReservationSpecification") or {})
    target = cast("Properties", reported.get("capacityReservationTarget") or {})
    number = index // facts.most
    return f"{stable_uuid('ultraserver', str(target.get('capacityReservationId')), number)}.1"


def host_name(urn: str, index: int, region: str) -> str:
    """Return the name of a machine, by its private address."""
    digest = hashlib.sha256(f"{urn} {index}".encode()).digest()
    suffix = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-10-{digest[0]}-{digest[1]}-{digest[2]}.{suffix}"


def _labels(record: Record, kind: Ec2InstanceType, zone: str, ami: str) -> dict[str, str]:
    group = record["inputs"]
    labels = {
        "eks.amazonaws.com/capacityType": str(group.get("capacityType") or "ON_DEMAND"),
        "eks.amazonaws.com/nodegroup": str(group["nodeGroupName"]),
        "eks.amazonaws.com/nodegroup-image": made_id("ami", ami),
        "kubernetes.io/arch": kind.arch,
        "node.kubernetes.io/instance-type": kind.name,
        "topology.kubernetes.io/region": str(record["region"]),
        "topology.kubernetes.io/zone": zone,
    }
    template = cast("Properties | None", group.get("launchTemplate"))
    if template:
        labels["eks.amazonaws.com/sourceLaunchTemplateId"] = str(template.get("id"))
        labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = str(template.get("version"))
    image = eks_facts().image(ami)
    if kind.gpus and image is not None and image.labels_gpus:
        labels["nvidia.com/gpu.present"] = "true"
    return {**labels, **cast("dict[str, str]", group.get("labels") or {})}


def _taint(item: Properties) -> NodeTaint:
    return NodeTaint(
        key=str(item["key"]),
        value=str(item.get("value") or ""),
        effect=cast("Any", EFFECTS[str(item["effect"])]),
    )


def _driver(
    account: EksAccount, template: Properties, kind: Ec2InstanceType, ami: str
) -> dict[str, object] | None:
    """NVIDIA's driver, where the image has one: always at the root of the host."""
    if kind.gpu is None:
        return None
    own = account.limits.images.get(str(template.get("imageId")))
    if own is not None:
        return {"driverVersion": own, "runtime": RUNTIME}
    image = eks_facts().image(ami)
    return {"driverVersion": DRIVER, "runtime": RUNTIME} if image is not None and image.nvidia else None


def _plugin_is_off(template: Properties) -> bool:
    try:
        text = base64.b64decode(str(template.get("userData") or ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return _PLUGIN_OFF.search(text) is not None
