"""Rules of ACK and ECS for new and changed node pools, beyond the shape of their inputs.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/developer-reference/api-create-node-pools
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.clouds.ack.simulation.account import INVALID, POOL, refuse
from dra_fleet.clouds.ack.simulation.pool_nodes import scaling_of, size_of, type_of, type_of_pool, zones_of
from dra_fleet.rehearsal.clouds.cloud import WrongInput, is_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.ack.simulation.account import AckAccount
    from dra_fleet.clouds.ack.simulation.pool_nodes import EcsInstanceType
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties

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
            path="nodePoolName",
            reason=f"{name!r} must have 1 to 63 letters, digits or '-', and no '-' first",
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
