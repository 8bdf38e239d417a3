"""Node pools of ACK: which labels and taints their nodes have, and what Alibaba Cloud calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.ack import CLOUD
from dra_fleet.clouds.ack.labels import ADVERTISED, DRIVER_VERSION, LEFT_ALONE, SCHEDULING
from dra_fleet.clouds.common.labels import ReservedLabels, check_labels
from dra_fleet.clouds.common.machines import check_devices, find_machine, identity_of, labels_of, planned
from dra_fleet.clouds.common.names import HASH_LENGTH, short_hash
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from dra_fleet.clouds.ack.settings import AckClusterSettings, AckPoolSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan

_RESERVED = ReservedLabels(
    owner="ACK",
    refuser="ACK",
    prefixes=("ack.aliyun.com/", "alibabacloud.com/", "kubernetes.io/", "k8s.io/", "node.kubernetes.io/"),
    judged=frozenset({SCHEDULING, DRIVER_VERSION}),
)
_NAME_LIMIT = 63
"""https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/developer-reference/api-cs-2015-12-15-createclusternodepool"""
_DESCRIBE = (
    "describe it in the stack file: machine: {instanceType: ecs.gn7i-c8g1.2xlarge, gpu: A10, gpus: 1, "
    "cpus: 8, memory: 30}"
)


def plan_ack_pool(
    at: tuple[str, ...], name: str, settings: AckClusterSettings, findings: Findings
) -> PoolPlan | None:
    """The plan of a node pool, or None after its machine was refused."""
    pool = settings.pools[name]
    machine = find_machine(at, pool.machine, CLOUD.machines, _DESCRIBE, findings=findings)
    if machine is None:
        return None
    if not isinstance(pool.machine, str):
        machine = machine.model_copy(
            update={"name": pool.machine.instance_type, "cloud": CLOUD.name, "arch": "amd64"}
        )
    check_devices(at, machine, pool, findings)
    ours = {POOL: name, **labels_of(machine, pool)}
    check_labels(at, pool, ours, findings, machine=machine, reserved=_RESERVED)
    if machine.gpus:
        ours[SCHEDULING] = LEFT_ALONE if pool.advertise in {None, "dra"} else ADVERTISED
        if pool.driver_version is not None:
            ours[DRIVER_VERSION] = pool.driver_version
    return planned(name, pool, machine, {**pool.labels, **ours})


def zones_of(pool: AckPoolSettings, settings: AckClusterSettings) -> tuple[str, ...]:
    """The zones whose vSwitches a pool is in."""
    return tuple(sorted(pool.zones)) or settings.zones()


def node_pool_name(plan: PoolPlan, pool: AckPoolSettings) -> str:
    """The node pool's name. It changes with what its nodes do not take over: a new pool replaces it.

    ACK installs another GPU driver, and another machine or image, only on nodes that join later.
    """
    identity = (
        plan.name,
        plan.machine.name,
        pool.image,
        pool.driver_version or "",
        "spot" if pool.spot else "",
        pool.reservation or "",
        *identity_of(plan),
    )
    digest = short_hash("\n".join(identity))
    return f"{plan.name[: _NAME_LIMIT - HASH_LENGTH - 1]}-{digest}"
