"""A stack at a later Kubernetes version: its settings there, and what breaks or changes on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.core.findings.errors import SettingsError, under
from dra_fleet.kubernetes.minors import kubernetes_facts, minor_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dra_fleet.kubernetes.devices.claim import DeviceClaim, DeviceRequest
    from dra_fleet.model.plan import ClusterPlan, FleetPlan

    Place = tuple[tuple[object, ...], str]
    """A path below the cluster, and what is there, as the end of a sentence."""


def known_minors() -> list[str]:
    """Return the Kubernetes versions that a stack can be proved at, planned ones last."""
    facts = kubernetes_facts()
    return [entry.minor for entry in (*facts.minors, *facts.planned)]


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Problems and changes for a stack on the way to a later version; `notes` are sentences."""

    errors: tuple[SettingsError, ...] = ()
    notes: tuple[str, ...] = ()


def outlook(plan: FleetPlan, minor: str) -> Outlook:
    """Return what breaks and what changes for the clusters of a plan on the way to a version.

    Args:
        plan: The plan of the stack as it is.
        minor: One of `known_minors`.
    """
    errors: list[SettingsError] = []
    notes: dict[str, list[str]] = {}
    for cluster in plan.clusters:
        for change in kubernetes_facts().changes:
            if not minor_order(cluster.kubernetes) < minor_order(change.minor) <= minor_order(minor):
                continue
            for path, because in _CONCERNS[change.name](cluster):
                what = f"Kubernetes {kubernetes_facts().dated(change.minor)}: {change.what}{because}"
                place = under("clusters", cluster.name, *path)
                if change.level == "error":
                    errors.append(SettingsError(path=place, what=what, fix=change.fix))
                else:
                    notes.setdefault(f"{what}; fix: {change.fix}", []).append(cluster.name)
    return Outlook(
        errors=tuple(errors),
        notes=tuple(f"clusters {', '.join(names)}: {text}" for text, names in notes.items()),
    )


def _of_removed_api(cluster: ClusterPlan) -> Iterator[Place]:
    removed = {change.removes for change in kubernetes_facts().changes if change.removes}
    for release in cluster.releases:
        facts = drivers.facts_of(release.driver)
        chart = facts.version(release.version) if facts else None
        if chart is not None and removed & {*chart.needs_apis}:
            yield ("drivers", release.driver), f", which {release.driver} {release.version} needs"


def _of_gangs(cluster: ClusterPlan) -> Iterator[Place]:
    names = [workload.name for workload in cluster.workloads if workload.gang]
    if names:
        yield (), f"; gangs: {', '.join(names)}"


def _of_shares(cluster: ClusterPlan) -> Iterator[Place]:
    return _of_claims(cluster, lambda devices: any(_capacity(request) for request in devices.requests))


def _of_constraints(cluster: ClusterPlan) -> Iterator[Place]:
    return _of_claims(cluster, lambda devices: bool(devices.constraints))


def _of_claims(cluster: ClusterPlan, concerns: Callable[[DeviceClaim], bool]) -> Iterator[Place]:
    plans = (*cluster.templates, *cluster.claims)
    names = [plan.name for plan in plans if concerns(plan.spec.devices)]
    if names:
        yield (), f"; claims: {', '.join(names)}"


def _capacity(request: DeviceRequest) -> bool:
    asked = (request.exactly, *request.first_available)
    return any(item is not None and item.capacity is not None for item in asked)


def _of_pods(cluster: ClusterPlan) -> Iterator[Place]:
    if cluster.workloads or cluster.demand:
        yield (), ""


def _of_node_resources(cluster: ClusterPlan) -> Iterator[Place]:
    concerned = {driver.facts.driver for driver in drivers.known() if driver.allocates_node_resources}
    for release in cluster.releases:
        if release.driver in concerned:
            yield ("drivers", release.driver), ""


_CONCERNS: Final[Mapping[str, Callable[[ClusterPlan], Iterator[Place]]]] = {
    "gangs-v1alpha1-removed": _of_gangs,
    "gangs-v1alpha2-removed": _of_gangs,
    "v1beta1-removed": _of_removed_api,
    "consumable-capacity-locked": _of_shares,
    "capacity-names": _of_shares,
    "list-attributes": _of_constraints,
    "preemption": _of_pods,
    "node-allocatable": _of_node_resources,
}
"""The parts of a cluster that a change concerns, by the change's name."""
