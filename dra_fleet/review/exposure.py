"""How each cluster is reached, by whom, with which credentials, and what in it is privileged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.aks.settings import AksClusterSettings
from dra_fleet.clouds.eks.settings import EksClusterSettings
from dra_fleet.clouds.existing.settings import ExistingClusterSettings
from dra_fleet.clouds.gke.settings import GkeClusterSettings
from dra_fleet.review.model import Exposure
from dra_fleet.settings.kubeconfig import KubeconfigFile, KubeconfigSecret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    settings = cluster.settings
    name = cluster.name
    if isinstance(settings, ExistingClusterSettings):
        yield _kubeconfig(name, settings)
    elif isinstance(settings, AksClusterSettings):
        yield from _aks(name, settings)
    elif isinstance(settings, GkeClusterSettings):
        yield from _gke(name, settings)
    elif isinstance(settings, EksClusterSettings):
        yield from _eks(name, settings)
    yield from _privileged(name, {item.name: item.labels for item in cluster.namespaces})
    for release in cluster.releases:
        text = f"{release.name} runs privileged pods in namespace {release.namespace}, as device drivers do"
        yield Exposure(cluster=name, subject="privileged pods", text=text, level="fine")


def _kubeconfig(name: str, settings: ExistingClusterSettings) -> Exposure:
    match settings.kubeconfig:
        case KubeconfigFile() as source:
            text = f"context {source.context} of {source.file or 'the kubeconfig of whoever runs it'}"
        case KubeconfigSecret() as source:
            text = f"a kubeconfig from the secret {source.secret} of this stack"
        case source:
            text = f"a kubeconfig that stack {source.stack} exports as {source.output}"
    return Exposure(cluster=name, subject="credentials", text=text, level="fine")


def _aks(name: str, settings: AksClusterSettings) -> Iterator[Exposure]:
    access = settings.access
    if access is None:
        yield _adopted(name)
        return
    yield _address(name, access.private, access.authorized_ranges)
    login = f"Entra ID by kubelogin ({access.login}); local accounts are off, no kubeconfig holds a secret"
    yield Exposure(cluster=name, subject="credentials", text=login, level="fine")
    groups = ", ".join(access.admin_groups) or "nobody but who has Azure's own cluster admin role"
    yield Exposure(cluster=name, subject="administrators", text=groups, level="fine")


def _gke(name: str, settings: GkeClusterSettings) -> Iterator[Exposure]:
    if settings.access is None:
        yield _adopted(name)
        return
    if settings.access.external:
        text = "DNS name that answers from everywhere to whom IAM lets in; no public address"
        yield Exposure(cluster=name, subject="API server", text=text, level="note")
    else:
        text = "DNS name that answers inside Google Cloud only; no public address"
        yield Exposure(cluster=name, subject="API server", text=text, level="fine")
    login = "Google IAM by gke-gcloud-auth-plugin; no kubeconfig holds a secret"
    yield Exposure(cluster=name, subject="credentials", text=login, level="fine")


def _eks(name: str, settings: EksClusterSettings) -> Iterator[Exposure]:
    access = settings.access
    if access is None:
        yield _adopted(name)
        return
    yield _address(name, access.private, access.public_ranges)
    login = "AWS IAM by short-lived tokens; no kubeconfig holds a secret"
    yield Exposure(cluster=name, subject="credentials", text=login, level="fine")
    admins = ", ".join(access.admins) or "nobody but who creates the cluster"
    yield Exposure(cluster=name, subject="administrators", text=admins, level="fine")


def _adopted(name: str) -> Exposure:
    text = "the cluster is adopted; who reaches its API server is not this stack's to say"
    return Exposure(cluster=name, subject="API server", text=text, level="note")


def _address(name: str, is_private: bool, ranges: Sequence[str]) -> Exposure:
    if is_private:
        return Exposure(cluster=name, subject="API server", text="has a private address only", level="fine")
    is_open = any(item.endswith("/0") for item in ranges)
    text = f"public address, open to {', '.join(ranges) or 'everybody'}"
    level = "warning" if is_open or not ranges else "note"
    return Exposure(cluster=name, subject="API server", text=text, level=level)


def _privileged(name: str, namespaces: Mapping[str, Mapping[str, str]]) -> Iterator[Exposure]:
    for namespace, labels in namespaces.items():
        if any(key.endswith("admin-access") and value == "true" for key, value in labels.items()):
            text = f"every claim in namespace {namespace} may ask for devices that others hold"
            yield Exposure(cluster=name, subject="admin access", text=text, level="warning")
