"""Clusters that already exist: no program declares their control planes, pools or machines."""

from dra_fleet.clouds.common.resources import no_machines, no_other_pools
from dra_fleet.clouds.resources import NO_TYPE, CloudResources, nothing, untold

RESOURCES = CloudResources(
    clusters=NO_TYPE,
    cluster_components=NO_TYPE,
    versions=(),
    support=None,
    local_accounts=nothing,
    public_addresses=nothing,
    pools=(),
    other_pools=no_other_pools,
    system_pool="",
    machine_templates=(),
    machines=no_machines,
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
