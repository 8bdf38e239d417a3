"""What helm records of a release, as outputs and inputs of the resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dra_fleet.rehearsal.providers.kubernetes import helm_options
from dra_fleet.rehearsal.providers.kubernetes.awaiting import pod_reasons
from dra_fleet.rehearsal.providers.kubernetes.following import Reference, read
from dra_fleet.rehearsal.providers.kubernetes.readiness import readiness
from dra_fleet.rehearsal.providers.properties import SecretValue, UnknownValue, plain, with_secrets_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.providers.properties import Properties


def state_of(metadata: dict[str, Any], objects: list[Object], inputs: Properties) -> Properties:
    """A release's output properties: its inputs, its status and the names of its objects.

    Args:
        metadata: what `helm get metadata` says.
        objects: those that it declares.
        inputs: the resource's.
    """
    status = {
        key: metadata.get(key) for key in ("appVersion", "chart", "name", "namespace", "revision", "status")
    }
    names: dict[str, list[str]] = {}
    for item in objects:
        names.setdefault(_group(item), []).append(_full_name(item))
    return {
        **inputs,
        "status": {**status, "version": metadata.get("version")},
        "resourceNames": {key: sorted(names[key]) for key in sorted(names)},
    }


def _group(body: Object) -> str:
    """A kind as the published plugin names it: `DaemonSet.apps/apps/v1`, `Secret/v1`."""
    group, separator, _ = body["apiVersion"].rpartition("/")
    return f"{body['kind']}{'.' if separator else ''}{group}/{body['apiVersion']}"


def _full_name(body: Object) -> str:
    metadata = body["metadata"]
    return (
        f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
    )


def inputs_now(old: Properties, metadata: dict[str, Any], values: Object) -> Properties:
    """A release's inputs as helm has them now.

    Args:
        old: the inputs in the state, empty for an import.
        metadata: what `helm get metadata` says.
        values: the values given to the latest revision.
    """
    now = {**old} if old else {"chart": metadata["chart"], "version": metadata["version"]}
    now |= {"name": metadata["name"], "namespace": metadata["namespace"]}
    if "version" in old and not isinstance(old["version"], UnknownValue):
        now["version"] = metadata["version"]
    given = plain(old.get("values"))
    known = helm_options.values_of({**cast("Object", plain(old)), "values": given})
    if values != known:
        now["values"] = with_secrets_of(values, old.get("values"))
        if isinstance(old.get("values"), SecretValue):
            now["values"] = SecretValue(values)
    return now


async def why_not_ready(api: KubeApi, namespace: str, objects: list[Object]) -> list[str]:
    """What the objects of a failed release say themselves.

    Args:
        api: of the cluster.
        namespace: the release's.
        objects: those that it declares.
    """
    reasons: list[str] = []
    for declared in objects:
        metadata = {"namespace": namespace, **declared["metadata"]}
        live = await read(api, Reference.of({**declared, "metadata": metadata}))
        if live is None:
            continue
        now = readiness(live)
        if not now.ready:
            reasons.append(f"{live['kind']} {live['metadata']['name']}: {now.reason}")
            reasons += await pod_reasons(api, live)
    return reasons
