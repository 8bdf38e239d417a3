"""Instance types, the nodes of a simulated node pool, and the rules of ACK and ECS for pools."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clouds.ack import CLOUD
from dra_fleet.clouds.ack.facts import ack_facts, is_mainland
from dra_fleet.clouds.ack.simulation.account import INVALID, POOL, made_id, refuse
from dra_fleet.rehearsal.clouds.cloud import WrongInput, is_unknown
from dra_fleet.rehearsal.clouds.clusters import InstanceType, cpus_of, near
from dra_fleet.rehearsal.clouds.scaling import SCALED, ScaledPool, numbers_of, scaled
from dra_fleet.rehearsal.simulator.hardware_file import node
from dra_fleet.rehearsal.simulator.node import NodeHardware, NodeTaint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.ack.simulation.account import AckAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties


_TYPE: Final = re.compile(r"ecs\.(?P<family>[a-z])(?P<generation>\d+)(?P<traits>[a-z]*)\.(?P<size>[a-z0-9]+)")
_GIB_PER_CPU: Final = {"g": 4, "c": 2, "r": 8}
"""https://www.alibabacloud.com/help/en/ecs/user-guide/overview-of-instance-families"""
_ARM: Final = re.compile(r"\d+y")
"""Families such as g8y are Yitian's, which is arm64."""


class EcsInstanceType(InstanceType, frozen=True):
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


# https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/developer-reference/api-create-node-pools

_MOST_TYPES: Final = 10
_MOST_VSWITCHES: Final = 8
_MOST_NODES: Final = 2000
_NAME: Final = re.compile(r"[^\W_][^\W_-]{0,62}|[^\W_][\w-]{0,62}")
_CONFLICTS: Final = (
    ("desiredSize", "nodeCount"), ("desiredSize", "instances"), ("nodeCount", "instances"),
    ("scalingConfig", "instances"), ("name", "nodePoolName"),
    ("keyName", "password"), ("keyName", "kmsEncryptedPassword"), ("password", "kmsEncryptedPassword"),
)  # fmt: skip
_ARM_IMAGE: Final = "AliyunLinux3Arm64"
_ANY_ARCH: Final = frozenset({"ContainerOS", "AliyunLinux3ContainerOptimized"})


def pool_faults(inputs: Properties) -> Iterator[WrongInput]:
    """Report inputs that contradict each other, with the provider's messages. Unknown values are skipped."""
    for one, other in _CONFLICTS:
        if inputs.get(one) is not None and inputs.get(other) is not None:
            yield WrongInput(path=one, reason=f'"{one}": conflicts with {other}')
    name = inputs.get("nodePoolName")
    if isinstance(name, str) and not is_unknown(name) and not _NAME.fullmatch(name):
        yield WrongInput(
            path="nodePoolName", reason=f"{name!r} must have 1 to 63 letters, digits or '-', and no '-' first"
        )


def refuse_invalid(account: AckAccount, record: Record, cluster: Record) -> None:
    """Check one pool by itself.

    Raises:
        CloudRefusal: ACK does not take it.
    """
    pool, region = record["inputs"], str(record["region"])
    types = cast("list[str]", pool.get("instanceTypes") or [])
    vswitches = cast("list[str]", pool.get("vswitchIds") or [])
    if not 1 <= len(types) <= _MOST_TYPES:
        raise refuse(INVALID, f"instance_types must hold 1 to {_MOST_TYPES} instance types, not {len(types)}")
    if not 1 <= len(vswitches) <= _MOST_VSWITCHES:
        raise refuse(INVALID, f"vswitch_ids must hold 1 to {_MOST_VSWITCHES} vSwitches, not {len(vswitches)}")
    refuse_vswitches(account, vswitches, str(cluster["state"]["vpcId"]))
    _refuse_scaling(pool)
    for name in types:
        _refuse_image(pool, type_of(name, region))
    for pool_of_same_name in account.all(POOL, f"{cluster['id']}:"):
        other = pool_of_same_name["inputs"].get("nodePoolName")
        if other == pool.get("nodePoolName") and pool_of_same_name["id"] != record["id"]:
            raise refuse(INVALID, f"a node pool {other} is in cluster {cluster['id']} already; rename one")
    reserved = cast("Properties", pool.get("privatePoolOptions") or {})
    if reserved.get("privatePoolOptionsMatchCriteria") == "Target" and not reserved.get(
        "privatePoolOptionsId"
    ):
        raise refuse(
            "MissingParameter.PrivatePoolOptionsId", "match criteria Target needs private_pool_options.id"
        )
    if reserved.get("privatePoolOptionsId") and pool.get("spotStrategy", "NoSpot") != "NoSpot":
        raise refuse("SpotNotSupported", "spot machines come from no private pool; use one or the other")


def refuse_vswitches(account: AckAccount, vswitches: list[str], network: str | None) -> None:
    """Check vSwitches: all in the cluster's VPC, as far as a stack made them.

    Args:
        account: with the network.
        vswitches: their ids.
        network: the VPC; None where that of the first one is meant.

    Raises:
        CloudRefusal: one is not a vSwitch, or in another VPC.
    """
    for vswitch in vswitches:
        if not re.fullmatch(r"vsw-[a-z0-9]+", vswitch):
            raise refuse("InvalidVSwitchId.NotFound", f"vSwitch {vswitch} does not exist; ids are vsw-…")
        its = account.network_of(vswitch)
        network = network or its
        if its is not None and network is not None and its != network:
            raise refuse(
                INVALID, f"vSwitch {vswitch} is in VPC {its}, not in the cluster's {network}; choose another"
            )


def _refuse_scaling(pool: Properties) -> None:
    scaling = scaling_of(pool)
    if scaling is None:
        return
    low, high = int(scaling.get("minSize") or 0), int(scaling.get("maxSize") or 0)
    if not 0 <= low <= high <= _MOST_NODES:
        raise refuse(
            INVALID,
            f"min_instances {low} and max_instances {high} must be 0 to max_instances, and min_instances to "
            f"{_MOST_NODES}",
        )
    if pool.get("desiredSize") is not None or pool.get("nodeCount") is not None:
        raise refuse(
            INVALID, "desired_size cannot be set while auto_scaling is enabled; leave one of the two out"
        )


def _refuse_image(pool: Properties, kind: EcsInstanceType) -> None:
    image = str(pool.get("imageType") or "AliyunLinux3")
    arch = "arm64" if image == _ARM_IMAGE else "amd64"
    if image not in _ANY_ARCH and arch != kind.arch:
        raise refuse(INVALID, f"image type {image} is for {arch}; instance type {kind.name} is {kind.arch}")


def refuse_beyond_limits(account: AckAccount, record: Record, *, had: int) -> None:
    """Check a pool against the account's quota and the zones' stock.

    Args:
        account: with the limits of the rehearsal.
        record: the pool as it shall be.
        had: how many of its machines it has already.

    Raises:
        CloudRefusal: with ECS's own words.
    """
    pool, region = record["inputs"], str(record["region"])
    kind = type_of_pool(pool, region)
    if size_of(pool) <= had:
        return
    _refuse_quota(account, record, kind)
    zones = zones_of(account, pool, region)
    if all(account.limits.is_out_of_stock(kind.name, zone) for zone in zones):
        raise refuse(
            "OperationDenied.NoStock",
            "The requested resource is sold out in the specified zone; try other types of resources or other "
            f"regions and zones: {kind.name} in {', '.join(zones)}",
        )


def _refuse_quota(account: AckAccount, record: Record, kind: EcsInstanceType) -> None:
    requested = kind.cpus * size_of(record["inputs"])
    for name in (kind.family, market_of(record["inputs"])):
        quota = account.limits.quotas.get(name)
        used = 0 if quota is None else cpus_in_use(account, name, but=record["id"])
        if quota is not None and used + requested > quota:
            raise refuse(
                "QuotaExceed.ElasticQuota",
                f"No additional quota is available for the specified ECS instance type: {kind.name} needs "
                f"{requested} vCPUs of {name} beside {used} in use, the quota is {quota}. Ask for more quota "
                "or fewer machines",
            )


def market_of(pool: Properties) -> str:
    """Return the vCPU quota that a pool counts against: "postpaid" or "spot"."""
    return "postpaid" if pool.get("spotStrategy", "NoSpot") == "NoSpot" else "spot"


def cpus_in_use(account: AckAccount, quota: str, *, but: str = "") -> int:
    """Return the vCPUs of all pools that count against a quota.

    Args:
        account: theirs.
        quota: an instance family, or what `market_of` reports.
        but: the id of a pool that is omitted.
    """
    pools = [pool for pool in account.all(POOL) if pool["id"] != but]
    kinds = [(type_of_pool(pool["inputs"], str(pool["region"])), pool["inputs"]) for pool in pools]
    return sum(
        kind.cpus * size_of(inputs) for kind, inputs in kinds if quota in {kind.family, market_of(inputs)}
    )
