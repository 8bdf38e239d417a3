"""Operations that a killed run began, as the engine's state lists them, and their outcome in clusters.

An engine that is killed while helm deletes a release may leave no operation in the state, only the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dra_fleet.clusters.client import UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import KubeApi, Object

RELEASE = "kubernetes:helm.sh/v3:Release"
_PROVIDER = "-kubernetes"


class Unfinished(Struct, frozen=True, kw_only=True):
    """An operation that was begun.

    Attributes:
        kind: As in the state, such as `creating`.
        resource: The resource as in the state.
        provider: The inputs of its provider.
        id: The engine's id of a resource that exists, "" if none does; None if unknown, or not asked for.
        why: Reason why a creation is unknown.
    """

    kind: str
    resource: Mapping[str, Any]
    provider: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None
    why: str = ""

    @property
    def name(self) -> str:
        """The logical name of the resource."""
        return str(self.resource["urn"]).rsplit("::", 1)[-1]

    @property
    def cluster(self) -> str:
        """The cluster of a Kubernetes resource, "" for others."""
        provider = str(self.resource.get("provider", ""))
        name = provider.split("::")[-2] if provider.count("::") > 1 else ""
        return name.removesuffix(_PROVIDER) if name.endswith(_PROVIDER) else ""

    @property
    def asks_cluster(self) -> bool:
        """True if the next run must not repeat it: helm reports an error if a release is already deleted."""
        return self.kind == "creating" or (self.kind == "deleting" and self.resource["type"] == RELEASE)

    @property
    def is_deleted(self) -> bool:
        """True if the deletion is complete, and only the state still has the resource."""
        return self.kind == "deleting" and self.id == ""

    @property
    def is_settled(self) -> bool:
        """True if the outcome is known, or the next run repeats the operation."""
        return self.kind != "creating" or self.id is not None

    @property
    def step(self) -> str:
        """The step that settles it, as a sentence or a command."""
        if self.is_deleted:
            return "remove it from the state; the cluster does not have it"
        if self.kind != "creating":
            return f"forget the {self.kind}; the next run repeats it"
        if self.id is None:
            unknown = f"unknown: {self.why}; " if self.why else ""
            settle = f"pulumi import {self.resource['type']} {self.name} ID, or pulumi refresh to forget it"
            return unknown + settle
        return f"import {self.id}, which exists" if self.id else "forget the creation; nothing exists"


def unfinished(state: Mapping[str, Any]) -> list[Unfinished]:
    """Return the pending operations of an exported state."""
    pending = state["deployment"].get("pending_operations") or ()
    return _operations(state, [(item["type"], item["resource"]) for item in pending])


def releases(state: Mapping[str, Any]) -> list[Unfinished]:
    """Return the deletion of each release of an exported state without a pending operation."""
    pending = [_entry(item.resource) for item in unfinished(state)]
    resources = state["deployment"].get("resources", ())
    found = [item for item in resources if item.get("type") == RELEASE and _entry(item) not in pending]
    return _operations(state, [("deleting", item) for item in found])


def _operations(state: Mapping[str, Any], found: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Unfinished]:
    inputs = {item["urn"]: item.get("inputs", {}) for item in state["deployment"].get("resources", ())}
    return [
        Unfinished(
            kind=kind,
            resource=resource,
            provider=inputs.get(resource.get("provider", "").rpartition("::")[0], {}),
        )
        for kind, resource in found
    ]


async def created_id(api: KubeApi, resource: Mapping[str, Any]) -> str | None:
    """Return the engine's id of an object or release, "" if it is missing, None if its name is unknown."""
    name, namespace = _place(resource)
    inputs: Object = resource.get("inputs") or {}
    if not name:
        return None
    if resource["type"] == RELEASE:
        selector = {"labelSelector": f"owner=helm,name={name}"}
        found = (await api.list("v1", "Secret", namespace, params=selector))["items"]
    else:
        try:
            found = await api.find(inputs["apiVersion"], inputs["kind"], name, namespace or "default")
        except UnknownKindError:
            found = None
    return "/".join(filter(None, (namespace, name))) if found else ""


def settled(state: Object, operations: Sequence[Unfinished]) -> Object:
    """Return a state without the settled operations and deleted resources, with the created ones added."""
    deployment = state["deployment"]
    added = [
        {**item.resource, "id": item.id, "outputs": item.resource.get("inputs", {})}
        for item in operations
        if item.kind == "creating" and item.id
    ]
    deleted = [_entry(item.resource) for item in operations if item.is_deleted]
    rest = [{"type": item.kind, "resource": item.resource} for item in operations if not item.is_settled]
    kept = [item for item in deployment.get("resources", ()) if _entry(item) not in deleted]
    left = {item["urn"] for item in kept}
    gone = {urn for urn, _ in deleted if urn not in left}
    resources = [*(_without(item, gone) for item in kept), *added]
    return {**state, "deployment": {**deployment, "resources": resources, "pending_operations": rest}}


def _without(resource: Object, gone: set[str]) -> Object:
    """Return a resource that does not depend on deleted ones, as the engine demands of a state."""
    by_property: Mapping[str, Sequence[str] | None] = resource.get("propertyDependencies") or {}
    changed: Object = {
        "dependencies": [urn for urn in resource.get("dependencies") or () if urn not in gone],
        "propertyDependencies": {
            key: [urn for urn in urns or () if urn not in gone] for key, urns in by_property.items()
        },
    }
    return {**resource, **{key: value for key, value in changed.items() if key in resource}}


def _entry(resource: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the URN, and whether it is the old resource of a replacement."""
    return resource["urn"], bool(resource.get("delete"))


def _place(resource: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the namespace of an object or release, "" if unknown."""
    inputs: Object = resource.get("inputs") or {}
    found: Object = inputs if resource["type"] == RELEASE else inputs.get("metadata") or {}
    return str(found.get("name", "")), str(found.get("namespace", ""))
