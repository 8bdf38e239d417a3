"""Which workloads use a DeviceClass, a template, a claim or a driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.proof.demand.pod_sets import claim_of

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.review.owners import Owner


def users_of(owner: Owner, *plans: FleetPlan | None) -> tuple[str, ...]:
    """The workloads that use what may change under them, as it will be or as it was, in order of names."""
    found: set[str] = set()
    for plan in plans:
        for cluster in plan.clusters if plan else ():
            if cluster.name == owner.cluster:
                found |= _users(owner, cluster)
    return tuple(sorted(found))


def _users(owner: Owner, cluster: ClusterPlan) -> set[str]:
    match owner.kind:
        case "template" | "claim":
            names = {owner.name}
        case "class":
            names = _claims_of({owner.name}, cluster)
        case "driver":
            release = next((item for item in cluster.releases if item.name == owner.name), None)
            if release is None:
                return set()
            names = _claims_of(_classes_of(release.driver, cluster), cluster)
        case _:
            return set()
    return {item.name for item in cluster.workloads if claim_of(item) in names}


def _claims_of(classes: set[str], cluster: ClusterPlan) -> set[str]:
    found: set[str] = set()
    for item in (*cluster.templates, *cluster.claims):
        for request in item.spec.to_object().get("devices", {}).get("requests", []):
            choices = [request.get("exactly", {}), *request.get("firstAvailable", [])]
            if any(choice.get("deviceClassName") in classes for choice in choices):
                found.add(item.name)
    return found


def _classes_of(driver: str, cluster: ClusterPlan) -> set[str]:
    facts = drivers.facts_of(driver)
    owned = facts.owned_classes if facts is not None else frozenset[str]()
    declared = {
        item.name
        for item in cluster.classes
        if any(driver in selector.cel.expression for selector in item.spec.selectors)
    }
    return declared | owned
