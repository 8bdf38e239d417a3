"""Wait until an object is ready, or until it is gone; both with a deadline and with reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.providers.kubernetes.errors import NotReadyError, RefusedError
from dra_fleet.rehearsal.providers.kubernetes.following import Reference, follow, read
from dra_fleet.rehearsal.providers.kubernetes.naming import annotation
from dra_fleet.rehearsal.providers.kubernetes.patience import StoppedError, within
from dra_fleet.rehearsal.providers.kubernetes.readiness import (
    Readiness,
    conditions_of,
    patience,
    pod_trouble,
    readiness,
)
from dra_fleet.rehearsal.providers.kubernetes.targets import endpoints_of, targeting
from dra_fleet.rehearsal.providers.kubernetes.wait_for import expectations, met

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from dra_fleet.clusters.client import KubeApi, Object

_SKIP: Final = "pulumi.com/skipAwait"
_TIMEOUT: Final = "pulumi.com/timeoutSeconds"
_PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"
_SECONDS: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LEFT_BEHIND: Final = (
    *(("v1", kind) for kind in ("Namespace", "Pod", "ReplicationController")),
    *(("apps/v1", kind) for kind in ("DaemonSet", "Deployment", "StatefulSet")),
    ("batch/v1", "Job"),
)
"""The kinds whose deletion `pulumi.com/skipAwait` does not wait for.

Source: https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/metadata/overrides.go.
"""
_DELETE_TIMEOUT: Final = 300.0  # seconds
_PODS_NAMED: Final = 5


@dataclass(frozen=True)
class Waiting:
    """How to wait: the resource option's seconds (0 for none), whom to tell, and when to give up."""

    timeout: float
    tell: Callable[[str], Awaitable[None]]
    stopping: asyncio.Event


def skips_waiting(inputs: Object) -> bool:
    """Whether the program turned waiting off for this object."""
    return annotation(inputs, _SKIP) == "true"


def skips_deletion(inputs: Object) -> bool:
    """Whether that holds of its deletion too, as it does of few kinds."""
    return skips_waiting(inputs) and (inputs.get("apiVersion"), inputs.get("kind")) in _LEFT_BEHIND


def propagation(inputs: Object) -> str:
    """What becomes of an object's dependents when it is deleted."""
    policy = (annotation(inputs, _PROPAGATION) or "").capitalize()
    return policy if policy in ("Orphan", "Background") else "Foreground"


def timeout_of(inputs: Object, custom: float, otherwise: float) -> float:
    """Seconds to wait: the resource option's, else the annotation's if it holds any, else the default."""
    if custom > 0:
        return custom
    text = annotation(inputs, _TIMEOUT) or ""
    return float(text) if _SECONDS.fullmatch(text) else otherwise


async def until_ready(api: KubeApi, live: Object, inputs: Object, waiting: Waiting) -> Object:
    """Wait for an object that was just applied and return it as it then is.

    Args:
        api: the object's cluster.
        live: the object as the server answered.
        inputs: the object as the program wants it; its annotations decide how to wait.
        waiting: how long, and whom to tell.

    Raises:
        NotReadyError: it failed, vanished, the time is up, or the engine stopped.
    """
    if skips_waiting(inputs):
        return live
    now = await judged(api, live, inputs)
    if now.ready or await _is_bound_by_its_pod(api, live):
        return live
    seconds = timeout_of(inputs, waiting.timeout, patience(live))
    last = [now.reason]

    async def note(reason: str) -> None:
        last[0] = reason
        await waiting.tell(reason)

    try:
        return await within(seconds, waiting.stopping, _follow_until_ready(api, live, inputs, note))
    except StoppedError:
        raise NotReadyError([f"interrupted while waiting: {last[0]}"]) from None
    except TimeoutError:
        reasons = [f"not ready after {seconds:g} s: {last[0]}", *await pod_reasons(api, live)]
        raise NotReadyError(reasons) from None


async def _follow_until_ready(
    api: KubeApi, live: Object, inputs: Object, note: Callable[[str], Awaitable[None]]
) -> Object:
    async for current in follow(api, Reference.of(live)):
        if current is None:
            raise NotReadyError(["it was deleted by somebody else while waiting for it"])
        stands = _by_itself(current, inputs)
        if stands.hopeless:
            raise NotReadyError([stands.reason, *await pod_reasons(api, current)])
        if stands.ready:
            await _follow_until_targeted(api, _endpoints_of(current, inputs), note)
            return current
        await note(stands.reason)
    raise AssertionError("following an object does not end by itself")


async def _follow_until_targeted(
    api: KubeApi, endpoints: Reference | None, note: Callable[[str], Awaitable[None]]
) -> None:
    if endpoints is None:
        return
    async for current in follow(api, endpoints):
        stands = targeting(current)
        if stands.ready:
            return
        await note(stands.reason)


async def judged(api: KubeApi, live: Object, inputs: Object) -> Readiness:
    """How an object stands by what the program waits for, else by its kind's rule, at this moment."""
    stands, endpoints = _by_itself(live, inputs), _endpoints_of(live, inputs)
    return stands if endpoints is None or not stands.ready else targeting(await read(api, endpoints))


def _by_itself(live: Object, inputs: Object) -> Readiness:
    wanted = expectations(inputs)
    return met(live, wanted) if wanted else readiness(live)


def _endpoints_of(live: Object, inputs: Object) -> Reference | None:
    return None if expectations(inputs) else endpoints_of(live)


async def _is_bound_by_its_pod(api: KubeApi, live: Object) -> bool:
    """Whether this is a volume claim whose class binds it only once a pod uses it."""
    if (live["apiVersion"], live["kind"]) != ("v1", "PersistentVolumeClaim"):
        return False
    name = live["spec"].get("storageClassName")
    found = await api.find("storage.k8s.io/v1", "StorageClass", name, None) if name else None
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"


async def pod_reasons(api: KubeApi, owner: Object) -> list[str]:
    """What keeps the pods of a workload from running, one sentence for each of the first few."""
    selecting: Object = owner.get("spec", {}).get("selector") or {}
    labels: dict[str, str] = selecting.get("matchLabels") or {}
    if owner["kind"] == "Pod" or not labels:
        return []
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    try:
        found = await api.list(
            "v1", "Pod", owner["metadata"]["namespace"], params={"labelSelector": selector}
        )
    except ApiError as error:
        return [f"its pods cannot be read: {error.message}"]
    troubles = ((pod["metadata"]["name"], pod_trouble(pod)) for pod in found["items"])
    return [f"pod {name}: {trouble}" for name, trouble in troubles if trouble][:_PODS_NAMED]


async def delete(api: KubeApi, reference: Reference, inputs: Object, waiting: Waiting) -> None:
    """Delete an object and wait until it is really gone, finalizers and dependents included.

    Raises:
        ApiError: the server refused.
        RefusedError: it is marked for deletion but still there when the time is up or the engine stopped.
    """
    seconds = timeout_of(inputs, waiting.timeout, _DELETE_TIMEOUT)
    options: dict[str, Any] = {"propagationPolicy": propagation(inputs)}
    answer = await api.delete(
        reference.api_version, reference.kind, reference.name, reference.namespace, options=options
    )
    if answer is None or skips_deletion(inputs):
        return
    last: list[Object] = []

    async def gone() -> None:
        async for current in follow(api, reference):
            if current is None or "deletionTimestamp" not in current["metadata"]:
                return  # gone, or already another object of the same name
            last[:] = [current]
            await waiting.tell(f"waiting for its finalizers: {', '.join(_finalizers(current))}")

    try:
        await within(seconds, waiting.stopping, gone())
    except TimeoutError:
        raise RefusedError(_still_there(reference, last, f"after {seconds:g} s")) from None
    except StoppedError:
        raise RefusedError(_still_there(reference, last, "when interrupted")) from None


def _finalizers(body: Object) -> list[str]:
    of_namespace = body["spec"].get("finalizers") if body["kind"] == "Namespace" else None
    return [*(body["metadata"].get("finalizers") or []), *(of_namespace or [])]


def _still_there(reference: Reference, last: list[Object], when: str) -> str:
    holders = ", ".join(name for body in last for name in _finalizers(body))
    why = f"held by its finalizers: {holders}" if holders else "nothing says what holds it"
    conditions = [item for body in last for item in conditions_of(body)]
    details = "; ".join(
        item["message"] for item in conditions if item.get("message") and item["status"] == "True"
    )
    return (
        f'{reference.kind} "{reference}" is marked for deletion but still there {when}, {why}'
        + (f" ({details})" if details else "")
        + "; remove what holds it, or give it more time with custom_timeouts"
    )
