"""ComputeDomains of a cluster: their objects, their workloads, and their checks.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
`cmd/compute-domain-controller`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.facts import CHANNEL_CLASS, CHANNEL_REQUEST, CLIQUE_LABEL, ComputeDomainSpec
from dra_fleet.drivers.nvidia.operator import NAME as OPERATOR
from dra_fleet.model.plan import ComputeDomainPlan
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.drivers.nvidia.settings import ComputeDomainSettings
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan
    from dra_fleet.model.workloads import DemandSettings


def check_compute_domains(settings: FleetSettings, findings: Findings) -> None:
    """Refuse domains of clusters that do not exist, and workloads that cannot be in the one they name."""
    for name, domain in sorted(_domains(settings).items()):
        if domain.cluster not in settings.clusters:
            findings.unknown(
                "computeDomains",
                name,
                "cluster",
                what="is not a cluster of this stack",
                got=domain.cluster,
                known=list(settings.clusters),
            )
        if domain.template is not None and domain.template in settings.claims:
            findings.error(
                "computeDomains",
                name,
                "template",
                what="is also the name of a claim of this stack, and the driver makes this template itself",
                got=domain.template,
                fix="choose another name, or remove template",
            )
    for name, workload in sorted(settings.workloads.items()):
        if workload.compute_domain is not None:
            _check_member(settings.place(name), workload, settings, findings)


def plan_compute_domains(
    cluster: str,
    settings: FleetSettings,
    pools: Sequence[PoolPlan],
    releases: Sequence[ReleasePlan],
    findings: Findings,
) -> tuple[ComputeDomainPlan, ...]:
    """Return the ComputeDomains of one cluster in the order of their names."""
    here = {name: item for name, item in sorted(_domains(settings).items()) if item.cluster == cluster}
    for name, domain in here.items():
        at = ("computeDomains", name)
        members = {
            key: item for key, item in sorted(settings.workloads.items()) if item.compute_domain == name
        }
        check_ability(at, domain, pools, releases, settings, findings=findings)
        if not members and domain.template is None:
            findings.warnings.append(
                f"cluster {cluster}: no workload is in ComputeDomain {name}; name it as a workload's "
                "computeDomain, or give it a template for pods outside this stack"
            )
        _check_one_fabric(members, pools, findings)
    release = nvidia_release(releases)
    return tuple(
        ComputeDomainPlan(
            name=name,
            driver=nvidia_facts.driver().name,
            namespace=settings.namespace,
            num_nodes=domain.num_nodes,
            allocation_mode=_mode(domain, releases),
            template=domain.template or f"{name}-channel",
            channel_class=CHANNEL_CLASS,
            channel_request=CHANNEL_REQUEST,
            external=domain.template is not None,
            after=() if release is None else (release.name,),
        )
        for name, domain in here.items()
    )


def domain_labels(workload: DemandSettings, pools: Sequence[PoolPlan]) -> dict[str, str]:
    """Return the labels of the one pool that can join a workload's ComputeDomain; none if several can."""
    reached = _reached(workload, pools) if workload.compute_domain is not None else []
    if len(reached) != 1:
        return {}
    labels = reached[0].labels
    return {POOL: labels[POOL]} if POOL in labels else dict(labels)


def _domains(settings: FleetSettings) -> Mapping[str, ComputeDomainSettings]:
    return cast("Mapping[str, ComputeDomainSettings]", settings.compute_domains)


def _check_member(
    at: tuple[str, ...], workload: DemandSettings, settings: FleetSettings, findings: Findings
) -> None:
    domain = _domains(settings).get(cast("str", workload.compute_domain))
    if domain is None:
        findings.unknown(
            *at,
            "computeDomain",
            what="is not a ComputeDomain of this stack",
            got=str(workload.compute_domain),
            known=list(_domains(settings)),
        )
    elif domain.cluster != workload.cluster:
        findings.error(
            *at,
            "computeDomain",
            what=f"is in cluster {domain.cluster}, and the workload runs on {workload.cluster}",
            got=str(workload.compute_domain),
            fix="name a ComputeDomain of the same cluster",
        )
    claim = settings.claims.get(workload.claim)
    if claim is not None and claim.shared:
        findings.error(
            *at,
            "computeDomain",
            what=f"does not go with the shared claim {workload.claim}: its pods are all on one node, which "
            "has one channel",
            got=str(workload.compute_domain),
            fix="remove shared from the claim, so that each pod gets GPUs on its node",
        )


def _mode(domain: ComputeDomainSettings, releases: Sequence[ReleasePlan]) -> Literal["Single", "All"] | None:
    """Written unless the driver's CRD lacks the field."""
    release = nvidia_release(releases)
    return None if release is not None and not knows_modes(release.version) else domain.channels


def _check_one_fabric(
    members: Mapping[str, DemandSettings], pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Pods of a domain follow the first one to its fabric, and two pools are two fabrics."""
    joining = [pool.name for pool in pools if is_multi_node(pool)]
    for name, workload in members.items():
        reached = [pool.name for pool in _reached(workload, pools)]
        at = ("workloads", name, "nodeSelector")
        if joining and not reached:
            findings.error(
                *at,
                what="leaves no pool whose NVLink reaches other machines",
                got=", ".join(f"{key}={value}" for key, value in sorted(workload.node_selector.items())),
                allowed=", ".join(joining),
                fix="remove nodeSelector",
            )
        if len(reached) > 1:
            findings.error(
                *at,
                what="leaves several pools, each with a separate NVLink fabric; all pods must fit in the "
                "pool of the first pod",
                got=", ".join(reached),
                allowed="one of them",
                fix=f"set nodeSelector: {{{POOL}: {reached[0]}}}",
            )


def _reached(workload: DemandSettings, pools: Sequence[PoolPlan]) -> list[PoolPlan]:
    """Return the pools of a multi-node fabric that can run a workload's pods."""
    return [
        pool
        for pool in pools
        if is_multi_node(pool)
        and all(pool.labels.get(key, value) == value for key, value in workload.node_selector.items())
    ]


# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
# `cmd/compute-domain-kubelet-plugin`.

DNS_NAMES = "IMEXDaemonsWithDNSNames"
ENABLED = "resources.computeDomains.enabled"
_LABELS = "kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled"
_MULTI_NODE = ("NVL72", "NVLink domain")
"""The prefix of the catalogue's `fabric` if NVLink connects several machines."""
_NODES_OPTIONAL_SINCE = "0.4.0"
"""The first chart whose definition has a default for `numNodes`."""
_NODES = "spec.numNodes"


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
        managed = [item for pool in pools for item in pool.managed_drivers if item.driver == "nvidia"]
        has_own = any(value_at(item.values, ENABLED, default=True) for item in managed)
        has_own |= not managed and not cluster.drivers
        _check_driver(at, domain, releases, has_own=has_own, findings=findings)
        _check_label(at, cluster, releases, findings)


def is_multi_node(pool: PoolPlan) -> bool:
    """Return True if NVLink connects a pool's machines to other machines."""
    return (pool.machine.fabric or "").startswith(_MULTI_NODE)


def knows_modes(version: str) -> bool:
    """Return True if a version's ComputeDomain has `channel.allocationMode`."""
    facts = nvidia_facts.driver()
    (kind,) = (item for item in facts.parameters or () if item.kind == "ComputeDomainChannelConfig")
    (field,) = (item for item in kind.fields if item.name == "allocationMode")
    return field.since is None or not facts.is_older(version, field.since)


def nvidia_release(releases: Sequence[ReleasePlan]) -> ReleasePlan | None:
    """Return the NVIDIA driver's release, if the stack installs one."""
    driver = nvidia_facts.driver().driver
    return next((item for item in releases if item.driver == driver), None)


def _has_fabric(
    at: tuple[str, ...],
    domain: ComputeDomainSettings,
    pools: Sequence[PoolPlan],
    settings: FleetSettings,
    findings: Findings,
) -> bool:
    """Return True if machines can join. An existing cluster may not describe their fabric."""
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
    version = nvidia_facts.driver().checked_version(release.version)
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
            fix="use version 25.8.0 or later, or remove channels",
        )


def _check_label(
    at: tuple[str, ...], cluster: ClusterSettings, releases: Sequence[ReleasePlan], findings: Findings
) -> None:
    """Pods go to the fabric of the first by a label; on a cluster that exists someone else may set it."""
    release = nvidia_release(releases)
    labelled = any(item.name == OPERATOR for item in releases)
    if release is None or labelled or not cluster.makes_nodes:
        return
    if value_at(release.values, _LABELS, default=False):
        return
    knowing = [entry.version for entry in nvidia_facts.driver().versions if _LABELS in entry.values]
    operator = nvidia_facts.gpu_operator().versions[-1].version
    findings.error(
        *at,
        "cluster",
        what=f"has no component that labels its nodes with {CLIQUE_LABEL}, by which the pods of a "
        "ComputeDomain find one fabric",
        got=f"version {release.version} of the driver",
        allowed=f"version {knowing[0]} or later, or the GPU Operator",
        fix=f"add gpuOperator: {{version: {operator}}} to the cluster, or use a newer driver",
    )


def checked_domain(spec: Mapping[str, Any], installed: Sequence[Installed]) -> list[Refusal]:
    """Return the problems that keep a ComputeDomain from working on a cluster.

    Args:
        spec: its spec.
        installed: the drivers of the cluster.

    Returns:
        Refusals with paths in the object.
    """
    from dra_fleet.kubernetes.devices.validate import validate_spec  # noqa: PLC0415 - models take long to build

    wrong = [
        Refusal(
            path=f"spec.{problem.path}".removesuffix("."),
            what=problem.what,
            fix=problem.fix,
        )
        for problem in validate_spec(ComputeDomainSpec, spec)
    ]
    running = next((item for item in installed if item.facts.name == nvidia_facts.driver().name), None)
    if running is None:
        what = "has no NVIDIA driver on this cluster, whose controller makes ComputeDomains"
        return [*wrong, Refusal(what=what, fix="add nvidia to the cluster's drivers")]
    is_custom = running.is_assumed or running.is_managed
    return wrong if wrong or is_custom else _on(running, spec)


def _on(running: Installed, spec: Mapping[str, Any]) -> list[Refusal]:
    if not value_at(running.values, ENABLED, default=True):
        what = f"would wait for ever: the stack's driver does not serve ComputeDomains ({ENABLED} is false)"
        return [Refusal(what=what, fix=f"set {ENABLED}: true in the values of the nvidia driver")]
    found: list[Refusal] = []
    version, nodes = running.version.version, spec.get("numNodes")
    if nodes is None and nvidia_facts.driver().is_older(version, _NODES_OPTIONAL_SINCE):
        what = f"is required by chart {version}"
        found.append(Refusal(path=_NODES, what=what, fix="numNodes: 0"))
    elif not nodes and not running.gates.get(DNS_NAMES, False):
        what = (
            f"must be the number of nodes that join: feature gate {DNS_NAMES} is off, or unknown to {version}"
        )
        fix = "set numNodes to how many nodes the pods are on, or turn the gate on"
        found.append(Refusal(path=_NODES, what=what, got="0", allowed="1 or more", fix=fix))
    if "allocationMode" in (spec.get("channel") or {}) and not knows_modes(version):
        what = f"is not a field of ComputeDomains in chart {version}"
        found.append(Refusal(path="spec.channel.allocationMode", what=what, fix="use chart 25.8.0 or later"))
    return found
