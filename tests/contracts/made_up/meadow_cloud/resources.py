"""Meadow as any program declares it: resources of meadow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.common.resources import no_other_pools, version_field
from dra_fleet.clouds.pools import PoolForm
from dra_fleet.clouds.resources import NO_TYPE, CloudResources, nothing, untold
from meadow_cloud import CLOUD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.core.declared.values import Value
    from dra_fleet.model.hardware import Machine

CLUSTER: Final = "meadow:index:Cluster"
POOL: Final = "meadow:index:Pool"


def _machines() -> Mapping[str, Machine]:
    return CLOUD.machines


def _nodes(pool: Value) -> Value:
    return pool.get("nodes")


RESOURCES = CloudResources(
    clusters=re.compile(CLUSTER),
    cluster_components=NO_TYPE,
    versions=(version_field(CLUSTER, "version", otherwise="the newest version"),),
    support=None,
    local_accounts=nothing,
    public_addresses=nothing,
    pools=(
        PoolForm(
            types=re.compile(POOL),
            pools="",
            name="name",
            machine="machine",
            labels="labels",
            taints="taints",
            image="image",
            autoscaling="",
            fewest=_nodes,
            most=_nodes,
            rolled_by=("image",),
        ),
    ),
    other_pools=no_other_pools,
    system_pool="",
    machine_templates=(),
    machines=_machines,
    known_machines=nothing,
    gpu_families={},
    plain_families=NO_TYPE,
    known_gpus=untold,
    own_labels=NO_TYPE,
    labels_by_hand=frozenset(),
    labels_gpus=False,
    added_taints=nothing,
    device_plugin=untold,
    known_images=untold,
    managed_plugins=None,
    gpu_driver_owner=untold,
    gpu_driver_root=untold,
    gpu_driver_images=nothing,
    partitions=nothing,
    unpredicted=nothing,
    wrong_images=nothing,
    dra_pools=None,
)
