"""The NVIDIA DRA driver: values for GPU allocation, and what its chart and binaries refuse.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, deployments/helm and pkg/featuregates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.common.placement import HOST, root_of
from dra_fleet.drivers.common.value_checks import default_namespace, variable_names
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.facts import KEY as ROOT
from dra_fleet.drivers.nvidia.resources import RESOURCES
from dra_fleet.drivers.nvidia.shares import NO_SHARES, is_option
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import toleration_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.model.plan import ChartValues

_CHART_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_CLUSTER_GATES = {
    "DynamicMIG": "DRAPartitionableDevices",
    "ConsumableShares": "DRAConsumableCapacity",
    "NVMLDeviceHealthCheck": "DRADeviceTaints",
    "DRAListTypeAttributes": "DRAListTypeAttributes",
}
_GATES_SINCE = {"NVMLDeviceHealthCheck": "0.4.0"}
"""Charts before leave unhealthy devices out of their slices, which needs no gate of the cluster."""
_ENUMS = {
    "resources.computeDomains.imex.mode": ("driverManaged", "hostManaged"),
    "resources.computeDomains.imex.isolation": ("", "domain"),
    "resourceApiVersion": ("", "resource.k8s.io/v1"),
    "webhook.tls.mode": ("cert-manager", "secret"),
    "webhook.tls.certManager.issuerType": ("selfsigned", "clusterissuer", "issuer"),
    "webhook.failurePolicy": ("Fail", "Ignore"),
}
"""https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/deployments/helm/dra-driver-nvidia-gpu/templates"""
_READ_IF = {
    "resources.computeDomains.": ("resources.computeDomains.enabled", True),
    "webhook.": ("webhook.enabled", False),
}
"""Keys that the chart reads only if a switch is on: the switch and its default."""
_TLS = {"cert-manager": "webhook.tls.certManager", "secret": "webhook.tls.secret"}


def values(release: Release) -> ChartValues:
    """GPU allocation on, ComputeDomains off, or the reverse; the API version fixed, taints tolerated."""
    gpus = not any(pool.by_plugin for pool in release.pools)
    chosen: dict[str, Any] = {
        "gpuResourcesEnabledOverride": gpus,
        "resources": {"gpus": {"enabled": gpus}, "computeDomains": {"enabled": not gpus}},
        ROOT: next(iter(_roots(release)), HOST),
    }
    if "resourceApiVersion" in release.version.values:
        # Rendering without a cluster could choose a version that the cluster does not serve.
        chosen["resourceApiVersion"] = "resource.k8s.io/v1"
    taints = (taint for pool in release.pools for taint in pool.taints)
    # Helm replaces lists, so the chart's own toleration is repeated.
    tolerations = toleration_list(taints, [_CHART_TOLERATION])
    if tolerations != [_CHART_TOLERATION] or _lacks_its_own(release):
        chosen["kubeletPlugin"] = {"tolerations": tolerations}
    return chosen


def conflicts(release: Release) -> Sequence[Refusal]:
    """Report pools with different driver roots: one release supports one."""
    if len(_roots(release)) <= 1:
        return ()
    reported = ", ".join(
        f"{pool.name}: {root_of(RESOURCES, pool)}" for pool in release.pools if pool.machine.gpus
    )
    return (
        Refusal(
            what=f"serves pools whose GPU drivers lie under different roots ({reported}); "
            f"one release has one {ROOT}",
            fix="give all pools of the cluster the same gpuDriver, or put them into different clusters",
        ),
    )


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """Report values that the chart's templates reject, or with which the driver crash-loops."""
    return [
        *_switches(release, final),
        *_partitioned(release),
        *_enums(final),
        *_gates_twice(release, final),
        *_webhook(final),
        *_gate_conflicts(release, final),
        *_cluster_gates(release, final),
    ]


def _roots(release: Release) -> list[str]:
    return sorted({root_of(RESOURCES, pool) for pool in release.pools if pool.machine.gpus})


def _lacks_its_own(release: Release) -> bool:
    """Return True if a pool has the usual GPU taint and the chart, up to 25.12.0, does not tolerate it."""
    usual = any(taint.key == _CHART_TOLERATION["key"] for pool in release.pools for taint in pool.taints)
    return usual and _CHART_TOLERATION not in release.version.plugin_tolerations


def _switches(release: Release, final: ChartValues) -> list[Refusal]:
    found: list[Refusal] = []
    gpus = value_at(final, "resources.gpus.enabled", default=True)
    domains = value_at(final, "resources.computeDomains.enabled", default=True)
    if gpus and not value_at(final, "gpuResourcesEnabledOverride", default=False):
        found.append(
            Refusal(
                path="gpuResourcesEnabledOverride",
                what="must be true when resources.gpus.enabled is; the chart refuses to install otherwise",
                got="false",
                allowed="true",
                fix="gpuResourcesEnabledOverride: true, or resources: {gpus: {enabled: false}}",
            )
        )
    if not gpus and not domains:
        found.append(
            Refusal(
                path="resources",
                what="turns off both GPUs and ComputeDomains, so that the driver does nothing",
                fix="leave resources.gpus.enabled true, or remove the driver",
            )
        )
    return [*found, *default_namespace(release, final)]


def _partitioned(release: Release) -> list[Refusal]:
    """Reject versions before 25.8.1, which publish a whole GPU beside its partitions (driver issue 719)."""
    cut = [pool.name for pool in release.pools if pool.sharing.strategy == "mig"]
    if not cut or not release.version.announces_partitioned_gpus:
        return []
    return [
        Refusal(
            what="publishes each GPU beside its partitions, so that it would be allocated twice, on pools "
            f"with partitions ({', '.join(cut)})",
            got=release.version.version,
            fix="use version 25.8.1 or later, where it is fixed",
        )
    ]


def _enums(final: ChartValues) -> list[Refusal]:
    return [
        Refusal(
            path=key,
            what="is rejected by the chart",
            got=str(value) or '""',
            allowed=", ".join(filter(None, allowed)),
        )
        for key, allowed in _ENUMS.items()
        if _is_read(key, final) and (value := value_at(final, key)) is not None and value not in allowed
    ]


def _gates_twice(release: Release, final: ChartValues) -> list[Refusal]:
    """Report feature gates that are set twice: a container sees the last variable, not featureGates."""
    what = "sets the driver's feature gates a second time, beside those of the chart"
    reported = (key for key, kind in release.version.values.items() if kind == "environment")
    found = (key for key in reported if "FEATURE_GATES" in variable_names(value_at(final, key)))
    return [Refusal(path=key, what=what, got="FEATURE_GATES", fix="use featureGates") for key in found]


def _is_read(key: str, final: ChartValues) -> bool:
    switches = [switch for start, switch in _READ_IF.items() if key.startswith(start)]
    return all(value_at(final, switch, default=default) for switch, default in switches)


def _webhook(final: ChartValues) -> list[Refusal]:
    if not value_at(final, "webhook.enabled", default=False):
        return []
    mode = value_at(final, "webhook.tls.mode", default="cert-manager")
    for key in ("webhook.tls", _TLS.get(str(mode), "")):
        if key and value_at(final, key, default=final) is None:
            return [Refusal(path=key, what="is required for the webhook", got="null", fix=f"remove {key}")]
    issuer = value_at(final, "webhook.tls.certManager.issuerType", default="selfsigned")
    needed: list[str] = []
    if mode == "secret":
        needed.append("webhook.tls.secret.name")
    elif issuer != "selfsigned":
        needed.append("webhook.tls.certManager.issuerName")
    return [
        Refusal(path=key, what=f"is required for the webhook with tls.mode {mode}", fix=f"set {key}")
        for key in needed
        if not value_at(final, key)
    ]


def _gates(release: Release, final: ChartValues) -> dict[str, bool]:
    given = cast("Mapping[str, bool]", value_at(final, "featureGates") or {})
    return {**release.version.feature_gates, **given}


def _gate_conflicts(release: Release, final: ChartValues) -> list[Refusal]:
    gates = _gates(release, final)
    found: list[Refusal] = []
    for conflict in nvidia_facts.driver().gate_conflicts_in(release.version.version):
        first, second = gates.get(conflict.gate, False), gates.get(conflict.other, False)
        wrong = first and (second if conflict.rule == "excludes" else not second)
        if not wrong:
            continue
        verb = "cannot be on together with" if conflict.rule == "excludes" else "needs"
        found.append(
            Refusal(
                path=f"featureGates.{conflict.gate}",
                what=f"{verb} {conflict.other}; every pod of the driver would crash-loop",
                got=f"{conflict.gate}={str(first).lower()}, {conflict.other}={str(second).lower()}",
                fix="set one of them to false"
                if conflict.rule == "excludes"
                else f"set {conflict.other}: true, or {conflict.gate}: false as well",
            )
        )
    found += _shares(gates, value_at(final, "consumableShares") or "")
    mode = "resources.computeDomains.imex.mode"
    host_managed = _is_read(mode, final) and value_at(final, mode) == "hostManaged"
    if host_managed and not gates.get("HostManagedIMEXDaemon", False):
        found.append(
            Refusal(
                path="resources.computeDomains.imex.mode",
                what="needs the feature gate HostManagedIMEXDaemon",
                got="hostManaged",
                fix="set featureGates.HostManagedIMEXDaemon: true",
            )
        )
    return found


def _shares(gates: Mapping[str, bool], shares: object) -> list[Refusal]:
    """Report missing requirements of shared GPUs, and features that the driver does not support with them.

    Source:
    https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/main.go#L306-L313
    """
    if shares in NO_SHARES:
        return []
    if not is_option(str(shares)):
        return [
            Refusal(
                path="consumableShares",
                what="is not an option of the driver, which exits at its start even without the gate",
                got=str(shares),
                allowed="disabled, memory, unlimited, or a whole number from 1 on",
            )
        ]
    found: list[Refusal] = []
    if not gates.get("ConsumableShares", False):
        found.append(
            Refusal(
                path="consumableShares",
                what="needs the feature gate ConsumableShares",
                got=str(shares),
                fix="set featureGates.ConsumableShares: true",
            )
        )
    if gates.get("MPSSupport", False):
        found.append(
            Refusal(
                path="consumableShares",
                what="cannot be on together with MPSSupport: no claim with MPS could be prepared",
                got=f"consumableShares={shares}, MPSSupport=true",
                fix="set one of them off: consumableShares: disabled, or MPSSupport: false",
            )
        )
    return found


def _cluster_gates(release: Release, final: ChartValues) -> list[Refusal]:
    kubernetes = kubernetes_facts()
    return [
        Refusal(
            path=f"featureGates.{gate}",
            what=f"needs the cluster's feature gate {needed}, which is off in Kubernetes {release.minor}",
            got="true",
            fix=f"use Kubernetes {kubernetes.gate(needed).on_from} or later"
            if kubernetes.gate(needed).on_from
            else "no known minor has it on by default",
        )
        for gate, needed in _CLUSTER_GATES.items()
        if _gates(release, final).get(gate, False)
        and not kubernetes.gate(needed).is_on(release.minor)
        and not nvidia_facts.driver().is_older(release.version.version, _GATES_SINCE.get(gate, ""))
    ]


def priority_keys(values: ChartValues) -> Sequence[str]:
    """Return the plugin's priority keys; those of the controller and the webhook if they are enabled."""
    parts = {
        "kubeletPlugin": True,
        "controller": value_at(values, "resources.computeDomains.enabled", default=True),
        "webhook": value_at(values, "webhook.enabled", default=False),
    }
    return [f"{part}.priorityClassName" for part, is_there in parts.items() if is_there]
