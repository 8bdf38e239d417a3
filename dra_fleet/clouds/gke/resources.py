"""GKE's resources in any program: clusters, node pools, their chips and GPU drivers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.clouds.common.resources import (
    open_address,
    open_to_everybody,
    plugin_unless_labelled,
    version_field,
)
from dra_fleet.clouds.gke import CLOUD, DRIVER, GPU_DRA, GPU_PRESENT, NO_PLUGIN, TPU_DRA
from dra_fleet.clouds.pools import PoolForm
from dra_fleet.clouds.resources import (
    NO_TYPE,
    CloudResources,
    DraPools,
    Fault,
    GpuDriverOwner,
    Support,
    untold,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.clouds.gke.facts import GkeFacts
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import CloudDevicePlugin, OtherPools
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers.base import Accelerators
    from dra_fleet.model.hardware import Machine


_TPU: Final = "tpu"


def chips_of(machine: Machine | None) -> Accelerators | None:
    """Return the chips of a machine; None if it has none, or if the machine is unknown."""
    driver = drivers.named(_TPU)
    return None if machine is None or driver is None else driver.accelerators_of(machine)


def in_slice(machine: Machine, topology: str | None) -> Machine:
    """Return the machine as a node of a slice, which the topology of the whole slice identifies.

    Args:
        machine: any machine.
        topology: of the slice; None where a node is a slice by itself.
    """
    if topology is None or chips_of(machine) is None:
        return machine
    return machine.with_vendor(_TPU, topology=topology)


_NOT_INSTALLED: Final = "INSTALLATION_DISABLED"


def facts() -> GkeFacts:
    """Load the facts only for callers that need more than resource names."""
    from dra_fleet.clouds.gke.facts import gke_facts  # noqa: PLC0415 - models take long to build

    return gke_facts()


def gpu_driver_owner(pool: NodePool) -> GpuDriverOwner | None:
    """Return the component that installs the driver on a pool's nodes; None if unknown."""
    at = pool.node("guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion")
    off = at.text == _NOT_INSTALLED
    if at.unknown:
        return None
    if off:  # the GPU Operator installs none on GKE's own image
        return GpuDriverOwner(at=at, owner="", other="install it by Google's DaemonSet")
    return GpuDriverOwner(at=at, owner="GKE", other="", label=DRIVER)


def gpu_driver_root(pool: NodePool) -> str | None:
    """Return the driver's path on the host of a pool's nodes; None if unknown."""
    images = facts().images
    name = pool.image.text or (images[0].name if pool.image.absent else "")
    return next((image.driver_root for image in images if image.name == name.upper()), None)


def wrong_images(stack: Stack, pool: NodePool, has_installer: Callable[[], bool]) -> Iterator[Fault]:
    """Report images without Google's GPU driver for the machine's architecture."""
    for machine in pool.known_machines(stack):
        allowed = _images_with_driver(machine) if machine.gpus else []
        if not allowed or pool.image.absent or (pool.image.text or "").upper() in allowed:
            continue
        if pool.image.unknown or has_installer():
            continue
        yield Fault(
            at=pool.image,
            problem=f"is {pool.image.shown}, for which Google has no GPU driver for {machine.arch}, "
            f"the processor of {machine.name}",
            allowed=", ".join(allowed),
            fix=f"set imageType: {allowed[0]}",
        )


def _images_with_driver(machine: Machine) -> list[str]:
    known = facts()
    found = {installer.image for installer in known.installers if installer.arch == machine.arch}
    return [] if found == {image.name for image in known.images} else sorted(found)


def own_driver(pool: NodePool) -> Iterator[Fault]:
    """Drivers that GKE installs by itself, which the DRA driver does not find."""
    for accelerator in pool.node("guestAccelerators").items:
        version = accelerator.get("gpuDriverInstallationConfig", "gpuDriverVersion")
        if version.unknown or version.text == _NOT_INSTALLED:
            continue
        yield Fault(
            at=version,
            problem=f"is {version.shown}, so GKE installs a driver that the DRA driver does not find",
            allowed=_NOT_INSTALLED,
            fix=f"set gpuDriverVersion: {_NOT_INSTALLED}, and install the driver by its DaemonSet",
        )


_CHOSEN: Final = "the default version of the cluster's release channel"
"""The version that GKE chooses by default: https://cloud.google.com/kubernetes-engine/versioning"""
_CLUSTER: Final = "gcp:container/cluster:Cluster"
_NODE_POOL: Final = "gcp:container/nodePool:NodePool"
_LEGACY_ACCESS: Final = (
    ("masterAuth", "clientCertificateConfig", "issueClientCertificate"),
    ("enableLegacyAbac",),
)
# https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies
_ROLLED_BY: Final = (
    "version",
    "nodeConfig.imageType",
    "nodeConfig.machineType",
    "nodeConfig.diskSizeGb",
    "nodeConfig.diskType",
    "nodeConfig.kubeletConfig",
    "nodeConfig.linuxNodeConfig",
)


def _other_pools(cluster: Resource) -> OtherPools:
    """Return e2-medium, unless the cluster sets its machines or removes the pool; Autopilot follows its pods.

    Node auto-provisioning creates pools of every kind that it has a limit for:
    https://cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning
    """
    limits = cluster.get("clusterAutoscaling", "resourceLimits")
    kinds = [limit.get("resourceType") for limit in limits.items]
    if limits.unknown or any(kind.text not in ("cpu", "memory") for kind in kinds):
        return "any"
    removed = cluster.get("removeDefaultNodePool")
    plain = cluster.get("enableAutopilot").flag is True or (
        cluster.get("initialNodeCount").given
        and (removed.absent or removed.flag is False)
        and cluster.get("nodeConfig").absent
        and cluster.get("nodePools").absent
    )
    return "plain" if plain else "none"


def _accelerators(pool: NodePool) -> list[Value]:
    return pool.node("guestAccelerators").items


def _known_machines(pool: NodePool) -> list[Machine]:
    kinds = [each.get("type").text or "none" for each in _accelerators(pool)]
    whole = [each for each in CLOUD.machines.values() if each.gpu_fraction is None]
    found = [next((each for each in whole if each.accelerator == kind), None) for kind in kinds]
    return [machine for machine in found if machine is not None]


def _local_accounts(cluster: Resource) -> Iterator[Fault]:
    for path in _LEGACY_ACCESS:
        switch = cluster.get(*path)
        if switch.flag:
            yield Fault(
                at=switch,
                problem=f"is {switch.shown}, so there are rights that Google's identities do not govern",
                allowed="false",
                fix=f"remove {path[0]}, and grant rights by IAM and RBAC",
            )


def _public_addresses(cluster: Resource) -> Iterator[Fault]:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/network-isolation
    dns = cluster.get("controlPlaneEndpointsConfig", "dnsEndpointConfig", "allowExternalTraffic")
    if dns.flag:
        yield Fault(
            at=dns,
            problem="is true, so every address of the Internet reaches the API server by its DNS name",
            allowed="false, or absent",
            fix="set allowExternalTraffic: false, and reach the DNS name from networks of Google Cloud",
        )
    endpoint = cluster.get("controlPlaneEndpointsConfig", "ipEndpointsConfig", "enabled")
    private = cluster.get("privateClusterConfig", "enablePrivateEndpoint")
    if endpoint.unknown or endpoint.flag is False or private.unknown or private.flag:
        return
    networks = cluster.get("masterAuthorizedNetworksConfig")
    fix = (
        "set masterAuthorizedNetworksConfig.cidrBlocks, or turn the address off by "
        "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled: false"
    )
    if networks.absent:
        yield open_address(networks, fix)
    google = networks.get("gcpPublicCidrsAccessEnabled")
    if google.flag:
        yield Fault(
            at=google,
            problem="is true, so every machine of Google Cloud reaches the API server",
            allowed="listed ranges, or no public address",
            fix="set gcpPublicCidrsAccessEnabled: false",
        )
    # Without a block no one is let in but the cluster's nodes:
    # https://www.pulumi.com/registry/packages/gcp/api-docs/container/cluster/
    yield from open_to_everybody(networks.every("cidrBlocks", "*", "cidrBlock"), fix)


def _limit(per_zone: str, total: str) -> Callable[[Value], Value]:
    def limit(pool: Value) -> Value:
        scaling = pool.get("autoscaling")
        if not scaling.absent:
            return scaling.get(total) if scaling.get(per_zone).absent else scaling.get(per_zone)
        return pool.get("initialNodeCount" if pool.get("nodeCount").absent else "nodeCount")

    return limit


def _pools(types: str, pools: str, name: str, config: str) -> PoolForm:
    return PoolForm(
        types=re.compile(types),
        pools=pools,
        name=name,
        machine=f"{config}machineType",
        labels=f"{config}labels",
        taints=f"{config}taints",
        image=f"{config}imageType",
        autoscaling="autoscaling",
        fewest=_limit("minNodeCount", "totalMinNodeCount"),
        most=_limit("maxNodeCount", "totalMaxNodeCount"),
        rolled_by=_ROLLED_BY,
    )


def _added_taints(pool: NodePool) -> Iterator[tuple[str, str]]:
    """https://cloud.google.com/kubernetes-engine/docs/how-to/node-taints; not all in every cluster."""
    machines = CLOUD.machines
    known = [machines[name] for name in (each.text or "" for each in pool.machines) if name in machines]
    if pool.has_gpus:
        yield "nvidia.com/gpu", "present"
    if any(map(chips_of, known)):
        yield "google.com/tpu", "present"
    if any(machine.arch == "arm64" for machine in known):
        yield "kubernetes.io/arch", "arm64"


def _device_plugin(_: Stack, pool: NodePool) -> CloudDevicePlugin | None:
    return plugin_unless_labelled(pool, NO_PLUGIN, "true", "GKE's device plugin")


def _partitions(_: Stack, pool: NodePool) -> list[Value]:
    return [each.get("gpuPartitionSize") for each in _accelerators(pool)]


def _unpredicted(pool: NodePool, _: bool) -> Iterator[tuple[str, str]]:
    """Report devices that the autoscaler does not predict.

    This depends on the pool alone, not on its driver.
    """
    if not pool.may_be_empty or not any(pool.label(key).text == "true" for key in (GPU_DRA, NO_PLUGIN)):
        return
    autoscaler = facts().scale_from_zero
    known = ", ".join(entry.name for entry in autoscaler.accelerators)
    for accelerator in _accelerators(pool):
        kind = accelerator.get("type")
        if kind.text is not None and autoscaler.accelerator(kind.text) is None:
            reason = f"GKE's autoscaler does not know the devices of {kind.shown}"
            yield reason, f"1 or more; 0 with {known}"
        elif accelerator.get("gpuPartitionSize").given:
            yield "GKE's autoscaler expects whole GPUs of a new node, no partitions", "1 or more"


RESOURCES = CloudResources(
    clusters=re.compile(_CLUSTER),
    cluster_components=NO_TYPE,
    versions=(
        version_field(_CLUSTER, "minMasterVersion", otherwise=_CHOSEN),
        version_field(_CLUSTER, "nodeVersion"),
        version_field(_CLUSTER, "nodePools.*.version"),
        version_field(_NODE_POOL, "version"),
    ),
    support=Support(by="GKE", standard_end=untold, end=untold, source=lambda: str(facts().source)),
    local_accounts=_local_accounts,
    public_addresses=_public_addresses,
    pools=(
        _pools(_NODE_POOL, "", "name", "nodeConfig."),
        _pools(_CLUSTER, "nodePools.*", "name", "nodeConfig."),
        _pools(_CLUSTER, "nodeConfig", "", ""),
    ),
    other_pools=_other_pools,
    system_pool="system",
    machine_templates=(),
    machines=lambda: CLOUD.machines,
    known_machines=_known_machines,
    # https://cloud.google.com/compute/docs/gpus
    gpu_families={"nvidia": re.compile(r"(a2|a3|a4|a4x|g2|g4)-")},
    # https://cloud.google.com/compute/docs/machine-resource
    plain_families=re.compile(
        r"(c2d?|c3d?|c4[ad]?|custom|e2|f1|g1|h3|h4d|m[1-4]|n1|n2d?|n4[ad]?|t2[ad]|x4|z3)-"
    ),
    known_gpus=lambda pool: ("nvidia",) if _accelerators(pool) else None,
    own_labels=re.compile(r"(^|[./])(google\.com|gke\.io)(/|$)|^gke\.networks\.io/"),
    labels_by_hand=frozenset({NO_PLUGIN, GPU_DRA, TPU_DRA}),
    labels_gpus=False,
    added_taints=_added_taints,
    device_plugin=_device_plugin,
    known_images=untold,
    managed_plugins=None,
    gpu_driver_owner=gpu_driver_owner,
    gpu_driver_root=gpu_driver_root,
    gpu_driver_images=lambda: [installer.container for installer in facts().installers],
    partitions=_partitions,
    unpredicted=_unpredicted,
    wrong_images=wrong_images,
    dra_pools=DraPools(
        labels={
            NO_PLUGIN: "GKE's device plugin also gives the GPUs out",
            GPU_PRESENT: "the DRA driver's plugin does not run on its nodes",
            GPU_DRA: "the autoscaler does not know that claims use its GPUs",
        },
        telling=(NO_PLUGIN, GPU_DRA),
        unprepared=own_driver,
    ),
)
