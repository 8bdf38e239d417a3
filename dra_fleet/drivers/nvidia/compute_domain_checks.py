"""Whether a cluster can have ComputeDomains: an NVLink fabric, a driver that serves them, and its label.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
`cmd/compute-domain-kubelet-plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import DRIVER as NVIDIA
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.objects.compute_domain import CLIQUE_LABEL
from dra_fleet.drivers.nvidia.operator import NAME as OPERATOR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.nvidia.compute_domain_settings import ComputeDomainSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan
    from dra_fleet.settings.clusters import ClusterSettings
    from dra_fleet.settings.fleet import FleetSettings

DNS_NAMES = "IMEXDaemonsWithDNSNames"
ENABLED = "resources.computeDomains.enabled"
_LABELS = "kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled"
_MULTI_NODE = ("NVL72", "NVLink domain")
"""How the catalogue's `fabric` begins where NVLink reaches from machine to machine."""


def check_ability(
    at: tuple[str, ...],
    domain: ComputeDomainSettings,
    pools: Sequence[PoolPlan],
    releases: Sequence[ReleasePlan],
    settings: FleetSettings,
    *,
    findings: Findings,
) -> None:
    """Refuse a domain that its cluster cannot have."""
    cluster = settings.clusters[domain.cluster]
    if _has_fabric(at, domain, pools, settings, findings):
        _check_driver(at, domain, releases, has_own=not cluster.drivers, findings=findings)
        _check_label(at, cluster, releases, findings)


def is_multi_node(pool: PoolPlan) -> bool:
    """Whether NVLink reaches from a pool's machines to other machines."""
    return (pool.machine.fabric or "").startswith(_MULTI_NODE)


def knows_modes(version: str) -> bool:
    """Whether a version's ComputeDomain has `channel.allocationMode`."""
    facts = NVIDIA.facts
    order = [entry.version for entry in facts.versions]
    (kind,) = (item for item in facts.parameters or () if item.kind == "ComputeDomainChannelConfig")
    (field,) = (item for item in kind.fields if item.name == "allocationMode")
    return field.since is None or order.index(version) >= order.index(field.since)


def nvidia_release(releases: Sequence[ReleasePlan]) -> ReleasePlan | None:
    """The NVIDIA driver's release, if the stack makes one."""
    driver = NVIDIA.facts.driver
    return next((item for item in releases if item.driver == driver), None)


def _has_fabric(
    at: tuple[str, ...],
    domain: ComputeDomainSettings,
    pools: Sequence[PoolPlan],
    settings: FleetSettings,
    findings: Findings,
) -> bool:
    """Whether machines can join. Those of a cluster that exists may be described without their fabric."""
    cluster = settings.clusters[domain.cluster]
    if not cluster.makes_nodes or any(is_multi_node(pool) for pool in pools):
        return True
    fitting = sorted(
        name for name, item in cluster.machine_types.items() if (item.fabric or "").startswith(_MULTI_NODE)
    )
    findings.error(
        *at,
        "cluster",
        what="has no machine whose NVLink reaches other machines, so that nothing could join",
        got=domain.cluster,
        allowed=f"a pool of {', '.join(fitting)}" if fitting else "",
        fix="add such a pool, or remove the ComputeDomain",
    )
    return False


def _check_driver(
    at: tuple[str, ...],
    domain: ComputeDomainSettings,
    releases: Sequence[ReleasePlan],
    *,
    has_own: bool,
    findings: Findings,
) -> None:
    release = nvidia_release(releases)
    if release is None:
        if not has_own:
            findings.error(
                *at,
                "cluster",
                what="has no NVIDIA driver of this stack, whose controller makes ComputeDomains",
                got=domain.cluster,
                fix="add nvidia to the cluster's drivers",
            )
        return
    if not value_at(release.values, ENABLED, default=True):
        findings.error(
            *at,
            "cluster",
            what=f"has a driver that does not serve ComputeDomains: {ENABLED} is false",
            got=domain.cluster,
            fix=f"set {ENABLED}: true in the values of its nvidia driver",
        )
    version = NVIDIA.facts.judged_version(release.version)
    gates = version.feature_gates if version is not None else dict[str, bool]()
    given = cast("Mapping[str, bool]", value_at(release.values, "featureGates") or {})
    if domain.num_nodes == 0 and not {**gates, **given}.get(DNS_NAMES, False):
        findings.error(
            *at,
            "numNodes",
            what=f"must be the number of nodes that join: feature gate {DNS_NAMES} is off, or unknown to "
            f"version {release.version}",
            got="0",
            allowed="1 or more",
            fix="set numNodes to how many nodes the workload's pods are on, or turn the gate on",
        )
    if domain.channels == "All" and not knows_modes(release.version):
        findings.error(
            *at,
            "channels",
            what=f"is unknown to version {release.version} of the driver",
            got="All",
            allowed="Single",
            fix="use version 25.8.1 or later, or remove channels",
        )


def _check_label(
    at: tuple[str, ...], cluster: ClusterSettings, releases: Sequence[ReleasePlan], findings: Findings
) -> None:
    """Pods go to the fabric of the first by a label; on a cluster that exists somebody else may set it."""
    release = nvidia_release(releases)
    labelled = any(item.name == OPERATOR for item in releases)
    if release is None or labelled or not cluster.makes_nodes:
        return
    if value_at(release.values, _LABELS, default=False):
        return
    knowing = [entry.version for entry in NVIDIA.facts.versions if _LABELS in entry.values]
    operator = nvidia_facts.gpu_operator().versions[0].version
    findings.error(
        *at,
        "cluster",
        what=f"has nobody who labels its nodes with {CLIQUE_LABEL}, by which the pods of a ComputeDomain "
        "find one fabric",
        got=f"version {release.version} of the driver",
        allowed=f"version {knowing[0]} or later, or the GPU Operator",
        fix=f"add gpuOperator: {{version: {operator}}} to the cluster, or use a newer driver",
    )
