"""ACK as any program declares it: resources of alicloud."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.ack import CLOUD
from dra_fleet.clouds.common.resources import (
    no_other_pools,
    open_address,
    plugin_unless_labelled,
    version_field,
)
from dra_fleet.clouds.pools import PoolForm
from dra_fleet.clouds.resources import NO_TYPE, CloudResources, Support, nothing, untold
from dra_fleet.drivers.common.placement import HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import CloudDevicePlugin, Fault
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value


SYSTEM_POOL = "system"
"""Node pool of the add-ons' pods."""
SCHEDULING: Final = "ack.node.gpu.schedule"
"""The label of the component that advertises the GPUs.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/scheduling-gpu-using-dra.
"""
LEFT_ALONE: Final = "disabled"
"""The label's value on nodes where ACK runs neither its device plugin nor GPU sharing."""
ADVERTISED: Final = "default"
"""Its value on nodes whose GPUs ACK's device plugin advertises whole, which is so without the label."""
DRIVER_VERSION: Final = "ack.aliyun.com/nvidia-driver-version"
"""The NVIDIA driver that ACK installs on nodes that join later.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/specify-a-custom-gpu-driver-version-for-a-node
"""


_CHOSEN: Final = "the newest version that ACK has when the cluster is made"
"""The version that ACK chooses by default.

https://www.pulumi.com/registry/packages/alicloud/api-docs/cs/managedkubernetes/
"""
_CLUSTER: Final = r"alicloud:cs/(\w+):(?:Managed|Serverless|Edge)?Kubernetes"


def _public_addresses(cluster: Resource) -> Iterator[Fault]:
    serverless = cluster.type.endswith(":ServerlessKubernetes")  # without a public address unless it asks
    public = cluster.get("endpointPublicAccessEnabled" if serverless else "slbInternetEnabled")
    if not public.unknown and (public.flag if serverless else public.flag is not False):
        yield open_address(public, f"set {public.path[-1]}: false")


def _limit(size: str) -> Callable[[Value], Value]:
    def limit(pool: Value) -> Value:
        scaling = pool.get("scalingConfig")
        return pool.get("desiredSize") if scaling.absent else scaling.get(size)

    return limit


def _device_plugin(_: Stack, pool: NodePool) -> CloudDevicePlugin | None:
    return plugin_unless_labelled(pool, SCHEDULING, LEFT_ALONE, "ACK's device plugin")


def _unpredicted(pool: NodePool, served: bool) -> Iterator[tuple[str, str]]:
    if served and pool.may_be_empty:
        yield "ACK's autoscaler does not know its devices", "1 or more"


def _gpu_driver_root(pool: NodePool) -> str | None:
    return HOST if pool.has_gpus else None


RESOURCES = CloudResources(
    clusters=re.compile(_CLUSTER),
    cluster_components=NO_TYPE,
    versions=(version_field(_CLUSTER, "version", otherwise=_CHOSEN),),
    support=Support(by="ACK", standard_end=untold, end=untold, source=str),
    local_accounts=nothing,
    public_addresses=_public_addresses,
    pools=(
        PoolForm(
            types=re.compile(r"alicloud:cs/nodePool:NodePool"),
            pools="",
            name="nodePoolName",
            machine="instanceTypes.*",
            labels="labels",
            taints="taints",
            image="imageType",
            autoscaling="scalingConfig",
            fewest=_limit("minSize"),
            most=_limit("maxSize"),
            rolled_by=(),
        ),
    ),
    other_pools=no_other_pools,
    system_pool=SYSTEM_POOL,
    machine_templates=(),
    machines=lambda: CLOUD.machines,
    known_machines=nothing,
    # https://www.alibabacloud.com/help/en/ecs/user-guide/gpu-accelerated-compute-optimized-and-vgpu-accelerated-instance-families
    gpu_families={"nvidia": re.compile(r"ecs\.(ebm|scc)?(gn|vgn|sgn)[\w-]*\.")},
    # https://www.alibabacloud.com/help/en/ecs/user-guide/overview-of-instance-families
    plain_families=re.compile(
        r"ecs\.(ebm|scc)?(c|ce|cm|d|e|g|hf[cgr]|i|ic|mn|n|r|re|s|se|sn|t|u|xn)[\d-][\w-]*\."
    ),
    known_gpus=untold,
    own_labels=re.compile(r"^(aliyun|alibabacloud|ack)\.|\.(aliyun|alibabacloud)\.com/"),
    labels_by_hand=frozenset(),
    labels_gpus=False,
    added_taints=nothing,
    device_plugin=_device_plugin,
    known_images=untold,
    managed_plugins=None,
    gpu_driver_owner=untold,
    gpu_driver_root=_gpu_driver_root,
    gpu_driver_images=nothing,
    partitions=nothing,
    unpredicted=_unpredicted,
    wrong_images=nothing,
    dra_pools=None,
)
