"""AKS as any program declares it: resources of azure-native, and of the classic provider azure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.common.resources import no_other_pools, open_ranges, version_field
from dra_fleet.clouds.pools import PoolForm, steps
from dra_fleet.clouds.resources import (
    NO_TYPE,
    CloudResources,
    Fault,
    GpuDriverOwner,
    ManagedPlugins,
    Support,
    nothing,
    untold,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator

    from dra_fleet.clouds.aks.facts import AksFacts
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value


SPOT = "kubernetes.azure.com/scalesetpriority"
"""Both a label and a taint of the nodes of a spot pool: https://learn.microsoft.com/azure/aks/spot-node-pool."""


_GROUP: Final = r"azure-native(_containerservice_v\w+)?:containerservice(/v\w+)?"
_CHOSEN: Final = "the minor before AKS's newest, in its latest patch"
"""The version that AKS chooses by default.

https://learn.microsoft.com/azure/aks/supported-kubernetes-versions
"""
# https://www.pulumi.com/registry/packages/azure/api-docs/containerservice/kubernetescluster/
_CLASSIC: Final = r"azure:containerservice/kubernetesCluster:KubernetesCluster"
_CLASSIC_POOL: Final = r"azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool"
_NATIVE: Final = rf"{_GROUP}:ManagedCluster"
_GENERIC: Final = r"azure-native:resources:Resource"
"""A pool can be a generic resource, for fields that the provider's own type lacks."""
_CLUSTER: Final = re.compile(rf"{_NATIVE}|{_CLASSIC}")
_NO_DRIVER: Final = "None"
_ENTRA: Final = ("aadProfile", "azureActiveDirectoryRoleBasedAccessControl")
_MANAGEMENT: Final = ("gpuProfile", "nvidia", "managementMode")


def _facts() -> AksFacts:
    from dra_fleet.clouds.aks.facts import aks_facts  # noqa: PLC0415 - models take long to build

    return aks_facts()


def _standard_end(minor: str) -> dt.date | None:
    entry = _facts().minor(minor)
    return None if entry is None else entry.standard_support_end


def _end(cluster: Resource, minor: str) -> dt.date | None:
    entry = _facts().minor(minor)
    if entry is None:
        return None
    long_term = cluster.get("supportPlan").text == "AKSLongTermSupport"
    return entry.long_term_support_end if long_term else entry.standard_support_end


def _named(holder: Resource | NodePool, native: tuple[str, ...], classic: str) -> Value:
    """Return a field by its name in the provider that declares it."""
    found = holder.get(classic)
    return found if found.possible else holder.get(*native)


def _local_accounts(cluster: Resource) -> Iterator[Fault]:
    classic = re.fullmatch(_CLASSIC, cluster.type) is not None
    disabled = cluster.get("localAccountDisabled" if classic else "disableLocalAccounts")
    if not disabled.unknown and disabled.flag is not True:
        yield Fault(
            at=disabled,
            problem=f"is {disabled.shown}, so a certificate with all rights can be listed",
            allowed="true",
            fix=f"set {disabled.path[-1]}: true, with an {_ENTRA[classic]} that names who may enter",
        )


def _public_addresses(cluster: Resource) -> Iterator[Fault]:
    if re.fullmatch(_CLASSIC, cluster.type) is not None:
        yield from _classic_public_addresses(cluster)
        return
    access = cluster.get("publicNetworkAccess")
    if access.unknown or access.text == "Disabled":
        return
    profile = cluster.get("apiServerAccessProfile")
    private = profile.get("enablePrivateCluster")
    if private.unknown or private.flag:
        return
    fix = "set apiServerAccessProfile.authorizedIPRanges, or enablePrivateCluster: true"
    yield from open_ranges(profile.get("authorizedIPRanges"), fix)


def _classic_public_addresses(cluster: Resource) -> Iterator[Fault]:
    private = cluster.get("privateClusterEnabled")
    if not private.unknown and not private.flag:
        fix = "set apiServerAccessProfile.authorizedIpRanges, or privateClusterEnabled: true"
        yield from open_ranges(cluster.get("apiServerAccessProfile", "authorizedIpRanges"), fix)


def _limit(scaled: str, switch: str = "enableAutoScaling", count: str = "count") -> Callable[[Value], Value]:
    return lambda pool: pool.get(scaled if pool.get(switch).flag else count)


def _sizes(pool: Value) -> list[Value]:
    """Return the size of a pool, or all sizes.

    https://learn.microsoft.com/azure/aks/virtual-machines-node-pools.
    """
    scale = pool.get("virtualMachinesProfile", "scale")
    several = [scale.every(*steps(path)) for path in ("manual.*.size", "manual.*.sizes.*", "autoscale.size")]
    found = [size for sizes in several for size in sizes if size.possible]
    return found or [pool.get("vmSize")]


def _pools(types: str, pools: str, name: str, applies: Callable[[Resource], bool] | None = None) -> PoolForm:
    return PoolForm(
        types=re.compile(types),
        applies=applies,
        pools=pools,
        name=name,
        machine="vmSize",
        labels="nodeLabels",
        taints="nodeTaints",
        image="osSKU",
        autoscaling="enableAutoScaling",
        fewest=_limit("minCount"),
        most=_limit("maxCount"),
        rolled_by=("orchestratorVersion",),  # https://learn.microsoft.com/azure/aks/upgrade-aks-cluster
        machines=_sizes,
    )


def _classic_pools(types: str, pools: str) -> PoolForm:
    switch = "autoScalingEnabled"
    return PoolForm(
        types=re.compile(types),
        pools=pools,
        name="name",
        machine="vmSize",
        labels="nodeLabels",
        taints="nodeTaints",
        image="osSku",
        autoscaling=switch,
        fewest=_limit("minCount", switch, "nodeCount"),
        most=_limit("maxCount", switch, "nodeCount"),
        rolled_by=("orchestratorVersion",),
    )


def _added_taints(pool: NodePool) -> Iterator[tuple[str, str]]:
    """https://learn.microsoft.com/azure/aks/spot-node-pool."""
    if _named(pool, ("scaleSetPriority",), "priority").text == "Spot":
        yield SPOT, "spot"


def _management(resource: Resource) -> list[Value]:
    if resource.type.endswith(":AgentPool"):
        return [resource.get(*_MANAGEMENT)]
    if resource.type.endswith(":ManagedCluster"):
        return resource.properties.every("agentPoolProfiles", "*", *_MANAGEMENT)
    mode = resource.get("properties", *_MANAGEMENT[:-1], "driverMode").text
    has_plugin = _is_generic_pool(resource) and mode != "DRA"
    return [resource.get("properties", *_MANAGEMENT)] if has_plugin else []


def _is_generic_pool(resource: Resource) -> bool:
    kind = resource.get("resourceType").text or ""
    return kind.rpartition("/")[2].lower() == "agentpools"


def _gpu_driver_owner(pool: NodePool) -> GpuDriverOwner | None:
    at = _named(pool, ("gpuProfile", "driver"), "gpuDriver")
    none = at.text == _NO_DRIVER
    place = "gpuDriver" if pool.resource.type.startswith("azure:") else "gpuProfile.driver"
    other = f'set {place}: "Install"' if none else f'{place}: "None"'
    return None if at.unknown else GpuDriverOwner(at=at, owner="" if none else "AKS", other=other)


def _gpu_driver_root(pool: NodePool) -> str | None:
    choice = _named(pool, ("gpuProfile", "driver"), "gpuDriver")
    if choice.unknown:
        return None
    return "" if choice.text == _NO_DRIVER else "/"


def _partitions(_: Stack, pool: NodePool) -> list[Value]:
    return [_named(pool, ("gpuInstanceProfile",), "gpuInstance")]


def _unpredicted(pool: NodePool, served: bool) -> Iterator[tuple[str, str]]:
    if served and pool.may_be_empty:
        yield "AKS's autoscaler does not know its devices", "1 or more"


RESOURCES = CloudResources(
    clusters=_CLUSTER,
    cluster_components=NO_TYPE,
    versions=(
        version_field(_CLUSTER.pattern, "kubernetesVersion", otherwise=_CHOSEN),
        version_field(_NATIVE, "agentPoolProfiles.*.orchestratorVersion"),
        version_field(_CLASSIC, "defaultNodePool.orchestratorVersion"),
        version_field(_CLASSIC_POOL, "orchestratorVersion"),
        version_field(rf"{_GROUP}:AgentPool", "orchestratorVersion"),
        version_field(_GENERIC, "properties.orchestratorVersion"),
    ),
    support=Support(
        by="AKS standard support", standard_end=_standard_end, end=_end, source=lambda: str(_facts().source)
    ),
    local_accounts=_local_accounts,
    public_addresses=_public_addresses,
    pools=(
        _pools(rf"{_GROUP}:AgentPool", "", "agentPoolName"),
        _pools(_NATIVE, "agentPoolProfiles.*", "name"),
        _pools(_GENERIC, "properties", "", _is_generic_pool),
        _classic_pools(_CLASSIC, "defaultNodePool"),
        _classic_pools(_CLASSIC_POOL, ""),
    ),
    other_pools=no_other_pools,
    system_pool="",
    machine_templates=(),
    machines=lambda: CLOUD.machines,
    known_machines=nothing,
    # https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated
    gpu_families={"nvidia": re.compile(r"(?i)Standard_N[CDV](?!\d+as_v4|\d+adm?s_V710|\w*_MI\d)")},
    # https://learn.microsoft.com/azure/virtual-machines/sizes/overview
    plain_families=re.compile(r"(?i)(Standard|Basic)_[ABDEFGHLM]"),
    known_gpus=untold,
    own_labels=re.compile(r"(^|[./])azure\.com(/|$)|^(accelerator|agentpool)$"),
    labels_by_hand=frozenset(),
    labels_gpus=False,
    added_taints=_added_taints,
    device_plugin=untold,
    known_images=untold,
    managed_plugins=ManagedPlugins(
        types=re.compile(rf"{_GROUP}:(AgentPool|ManagedCluster)|{_GENERIC}"),
        places=_management,
        on="Managed",
        off="Unmanaged",
        owner="Azure",
    ),
    gpu_driver_owner=_gpu_driver_owner,
    gpu_driver_root=_gpu_driver_root,
    gpu_driver_images=nothing,
    partitions=_partitions,
    unpredicted=_unpredicted,
    wrong_images=nothing,
    dra_pools=None,
)
