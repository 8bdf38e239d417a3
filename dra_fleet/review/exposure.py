"""How each cluster is reached, by whom, with which credentials, and what in it is privileged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.review.model import Exposure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.model.plan import ClusterPlan, FleetPlan


def exposure(plan: FleetPlan, secret_keys: tuple[str, ...]) -> tuple[Exposure, ...]:
    """All facts, warnings first.

    Args:
        plan: The stack.
        secret_keys: The names of its secret configuration values.
    """
    found = [item for cluster in plan.clusters for item in _cluster(cluster)]
    if secret_keys:
        text = f"secret values of the configuration: {', '.join(secret_keys)}; none of them is shown here"
        found.append(Exposure(cluster="", subject="secrets", text=text, level="fine"))
    order = {"warning": 0, "note": 1, "fine": 2}
    return tuple(sorted(found, key=lambda item: order[item.level]))


def _cluster(cluster: ClusterPlan) -> Iterator[Exposure]:
    name = cluster.name
    for told in clouds.named(cluster.cloud).exposure(cluster.settings):
        yield Exposure(cluster=name, subject=told.subject, text=told.text, level=told.level)
    yield from _privileged(name, {item.name: item.labels for item in cluster.namespaces})
    for release in cluster.releases:
        text = f"{release.name} runs privileged pods in namespace {release.namespace}, as device drivers do"
        yield Exposure(cluster=name, subject="privileged pods", text=text, level="fine")


def _privileged(name: str, namespaces: Mapping[str, Mapping[str, str]]) -> Iterator[Exposure]:
    for namespace, labels in namespaces.items():
        if any(key.endswith("admin-access") and value == "true" for key, value in labels.items()):
            text = f"every claim in namespace {namespace} may ask for devices that others hold"
            yield Exposure(cluster=name, subject="admin access", text=text, level="warning")
