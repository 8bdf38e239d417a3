"""Instance types, and the nodes that a simulated node pool makes of them."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clouds.ack import CLOUD
from dra_fleet.clouds.ack.facts import ack_facts, is_mainland
from dra_fleet.clouds.ack.simulation.account import made_id, refuse
from dra_fleet.rehearsal.clouds.clusters import InstanceType, cpus_of, near
from dra_fleet.rehearsal.clouds.scaling import SCALED, ScaledPool, numbers_of, scaled
from dra_fleet.rehearsal.simulator.hardware_file import node
from dra_fleet.rehearsal.simulator.node import NodeHardware, NodeTaint

if TYPE_CHECKING:
    from dra_fleet.clouds.ack.simulation.account import AckAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties


_TYPE: Final = re.compile(r"ecs\.(?P<family>[a-z])(?P<generation>\d+)(?P<traits>[a-z]*)\.(?P<size>[a-z0-9]+)")
_GIB_PER_CPU: Final = {"g": 4, "c": 2, "r": 8}
"""https://www.alibabacloud.com/help/en/ecs/user-guide/overview-of-instance-families"""
_ARM: Final = re.compile(r"\d+y")
"""Families such as g8y are Yitian's, which is arm64."""


class EcsInstanceType(InstanceType):
    """An instance type of ECS."""

    @property
    def family(self) -> str:
        """Such as ecs.gn7i, of which quotas are."""
        return ".".join(self.name.split(".")[:2]).partition("-")[0]


def find_type(name: str) -> EcsInstanceType | None:
    known = CLOUD.machines.get(name)
    if known is not None:
        return EcsInstanceType.of(known)
    match = _TYPE.fullmatch(name)
    cpus = cpus_of(match["size"]) if match else None
    if match is None or cpus is None or match["family"] not in _GIB_PER_CPU:
        return None
    arm = _ARM.fullmatch(match["generation"] + match["traits"]) is not None
    memory = cpus * _GIB_PER_CPU[match["family"]]
    return EcsInstanceType(name=name, cpus=cpus, memory_gib=memory, arch="arm64" if arm else "amd64")


def type_of(name: str, region: str) -> EcsInstanceType:
    """Return the instance type of that name.

    Raises:
        CloudRefusal: there is none, or not in this region.
    """
    found = find_type(name)
    abroad = ack_facts().abroad.machines
    if found is not None and not (name.startswith(abroad) and is_mainland(region)):
        return found
    # The words of ECS: https://github.com/AliyunContainerService/docker-machine-driver-aliyunecs/issues/40
    words = "This resource type is not supported; please try other resource types."
    if found is None:
        known = (
            f"nearest known: {near(name, CLOUD.machines)}. Add it to the catalogue of machines if it exists"
        )
    else:
        known = "it is offered only outside of mainland China"
    raise refuse("InvalidResourceType.NotSupported", f"{words} {name} is not known in {region}; {known}")


SCHEDULING: Final = "ack.node.gpu.schedule"
DRIVER_LABEL: Final = "ack.aliyun.com/nvidia-driver-version"
PLUGIN: Final = "ack-nvidia-device-plugin"
DRIVER: Final = "550.144.03"
"""Assumed to be the default: ACK's pages recommend this branch and say that the default changes."""
RUNTIME: Final = "nvidia"
ELASTIC: Final = {"k8s.aliyun.com": "true"}
"""Labels of nodes of pools that scale: https://registry.terraform.io/providers/aliyun/alicloud/latest/docs."""


def type_of_pool(pool: Properties, region: str) -> EcsInstanceType:
    """Return the instance type of new machines: the first if the pool lists several.

    Raises:
        CloudRefusal: there is none of that name.
    """
    found = [type_of(str(name), region) for name in cast("list[str]", pool["instanceTypes"])]
    return found[0]


def scaling_of(pool: Properties) -> Properties | None:
    """Return the pool's scaling configuration; None if it does not scale."""
    scaling = cast("Properties", pool.get("scalingConfig") or {})
    return scaling if scaling.get("enable", bool(scaling)) else None


def size_of(pool: Properties) -> int:
    """Return the pool's number of nodes; of a scaled pool its minimum at first."""
    scaling = scaling_of(pool)
    if scaling is not None:
        least, most = int(scaling.get("minSize") or 0), int(scaling.get("maxSize") or 0)
        return min(max(int(pool.get(SCALED, {}).get("size", least)), least), most)
    return int(pool.get("desiredSize") or pool.get("nodeCount") or 0)


def zones_of(account: AckAccount, pool: Properties, region: str) -> list[str]:
    """Return the zones of a pool's vSwitches in order, without duplicates."""
    vswitches = cast("list[str]", pool.get("vswitchIds") or [])
    return list(dict.fromkeys(account.zone_of(vswitch, region) for vswitch in vswitches))


def let_join(account: AckAccount, record: Record) -> None:
    """Note what each machine of a pool is made of: those that are there stay as they joined.

    New labels and taints reach them only where the pool says so (`updateNodes`), a new driver never:
    https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/specify-a-custom-gpu-driver-version-for-a-node

    Args:
        account: with what ACK installs.
        record: the pool's, as it shall be.
    """
    pool = record["inputs"]
    joined: dict[int, Properties] = dict(
        zip(record.get("numbers", count()), record.get("joined", ()), strict=False)
    )
    if pool.get("updateNodes"):
        reported = {"labels": pool.get("labels"), "taints": pool.get("taints")}
        joined = {number: {**one, "pool": {**one["pool"], **reported}} for number, one in joined.items()}
    fresh = {"pool": pool, "driver": _driver(account, pool)}
    record["numbers"] = numbers_of(pool, size_of(pool))
    record["joined"] = [joined.get(number, fresh) for number in record["numbers"]]


def pool_machines(account: AckAccount, record: Record, cluster: Record) -> list[NodeHardware]:
    """All machines of a node pool.

    Args:
        account: with the network.
        record: the pool's.
        cluster: its cluster's.
    """
    return [
        _machine(account, {**record, "inputs": one["pool"]}, cluster, index, str(one["driver"]))
        for index, one in zip(
            numbers_of(record["inputs"], len(record["joined"])), record["joined"], strict=True
        )
    ]


def scaled_pool(account: AckAccount, record: Record, cluster: Record) -> ScaledPool:
    """Return a pool with a scaling configuration as the autoscaler sees it."""
    pool, size = record["inputs"], size_of(record["inputs"])
    scaling = cast("Properties", scaling_of(pool))
    number = numbers_of(pool, size + 1)[-1]
    return ScaledPool(
        cluster=cluster["simulator"],
        name=str(pool["nodePoolName"]),
        resource=(record["type"], record["id"]),
        least=int(scaling.get("minSize") or 0),
        most=int(scaling.get("maxSize") or 0),
        machines=dict(zip(record["numbers"], pool_machines(account, record, cluster), strict=True)),
        fresh=_machine(account, record, cluster, number, _driver(account, pool)),
        inputs_with=partial(scaled, pool),
    )


def _machine(account: AckAccount, record: Record, cluster: Record, index: int, driver: str) -> NodeHardware:
    pool, region = record["inputs"], str(record["region"])
    kind = type_of_pool(pool, region)
    zones = zones_of(account, pool, region)
    zone = zones[index % len(zones) if pool.get("multiAzPolicy") == "BALANCE" else 0]
    return node(
        name=_node_name(record["urn"], index, region),
        machine=kind.machine,
        cpu=str(kind.cpus),
        memory=f"{kind.memory_gib}Gi",
        kubelet=f"v{record['release']}",
        provider_id=f"{region}.{made_id('i-bp1', record['urn'], index)}",
        labels=_labels(record, cluster, kind, zone),
        taints=tuple(_taints(pool)),
        nvidia={"driverVersion": driver, "runtime": RUNTIME} if kind.gpu else None,
        advertised=_advertised(pool, cluster, kind),
    )


def labels_of(pool: Properties) -> dict[str, str]:
    given = cast("list[dict[str, str]]", pool.get("labels") or [])
    return {str(label["key"]): str(label.get("value") or "") for label in given}


def _node_name(urn: str, index: int, region: str) -> str:
    digest = hashlib.sha256(f"{urn} {index}".encode()).digest()
    return f"{region}.10.{digest[0]}.{digest[1]}.{digest[2]}"


def _labels(record: Record, cluster: Record, kind: EcsInstanceType, zone: str) -> dict[str, str]:
    pool = record["inputs"]
    labels = {
        "ack.aliyun.com": str(cluster["id"]),
        "alibabacloud.com/nodepool-id": str(record["state"]["nodePoolId"]),
        "kubernetes.io/arch": kind.arch,
        "node.kubernetes.io/instance-type": kind.name,
        "topology.diskplugin.csi.alibabacloud.com/zone": zone,
        "topology.kubernetes.io/region": str(record["region"]),
        "topology.kubernetes.io/zone": zone,
    }
    if scaling_of(pool) is not None:
        labels |= ELASTIC
    if kind.gpus:
        labels |= {
            SCHEDULING: "default",
            "aliyun.accelerator/nvidia_count": str(kind.gpus),
            "aliyun.accelerator/nvidia_name": f"NVIDIA-{kind.gpu}",
        }
    return {**labels, **labels_of(pool)}


def _taints(pool: Properties) -> list[NodeTaint]:
    given = cast("list[Properties]", pool.get("taints") or [])
    return [
        NodeTaint(
            key=str(item["key"]),
            value=str(item.get("value") or ""),
            effect=cast("Any", item.get("effect") or "NoSchedule"),
        )
        for item in given
    ]


def _driver(account: AckAccount, pool: Properties) -> str:
    """NVIDIA's driver, which ACK installs when a machine joins; one that it has not is silently the default.

    https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/node-nvidia-driver-version-list
    """
    asked = labels_of(pool).get(DRIVER_LABEL, DRIVER)
    has = account.limits.drivers
    return asked if not has or asked in has else DRIVER


def _advertised(pool: Properties, cluster: Record, kind: EcsInstanceType) -> dict[str, int]:
    """Return the devices that ACK's device plugin advertises.

    It runs on nodes with the label value "default".
    """
    addons = cast("list[Properties]", cluster["inputs"].get("addons") or [])
    removed = any(addon.get("name") == PLUGIN and addon.get("disabled") for addon in addons)
    scheduled = labels_of(pool).get(SCHEDULING, "default")
    return {"nvidia.com/gpu": kind.gpus} if kind.gpus and scheduled == "default" and not removed else {}
