"""Wait until an object is ready, or until it is gone; both with a deadline and with reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.rehearsal.providers.kubernetes.errors import NotReadyError, RefusedError
from dra_fleet.rehearsal.providers.kubernetes.following import Reference, follow
from dra_fleet.rehearsal.providers.kubernetes.naming import annotation
from dra_fleet.rehearsal.providers.kubernetes.patience import StoppedError, within
from dra_fleet.rehearsal.providers.kubernetes.readiness import (
    Readiness,
    conditions_of,
    patience,
    pod_trouble,
    readiness,
)
from dra_fleet.rehearsal.providers.kubernetes.wait_for import expectations, met

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from dra_fleet.clusters.client import KubeApi, Object

_SKIP: Final = "pulumi.com/skipAwait"
_TIMEOUT: Final = "pulumi.com/timeoutSeconds"
_PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"
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


def timeout_of(inputs: Object, custom: float, otherwise: float) -> float:
    """Seconds to wait: the resource option's, else the annotation's, else the default.

    Raises:
        RefusedError: the annotation holds no number of seconds.
    """
    if custom > 0:
        return custom
    text = annotation(inputs, _TIMEOUT)
    if text is None:
        return otherwise
    if not text.isdigit():
        raise RefusedError(f"annotation {_TIMEOUT}: got {text!r}, allowed is a whole number of seconds")
    return float(text)


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
    now = judged_by(live, inputs)
    if skips_waiting(inputs) or now.ready or await _is_bound_by_its_pod(api, live):
        return live
    seconds = timeout_of(inputs, waiting.timeout, patience(live))
    last = [now.reason]

    async def ready() -> Object:
        async for current in follow(api, Reference.of(live)):
            if current is None:
                raise NotReadyError(["it was deleted by somebody else while waiting for it"])
            judged = judged_by(current, inputs)
            if judged.ready:
                return current
            if judged.hopeless:
                raise NotReadyError([judged.reason, *await pod_reasons(api, current)])
            last[0] = judged.reason
            await waiting.tell(judged.reason)
        raise AssertionError("following an object does not end by itself")

    try:
        return await within(seconds, waiting.stopping, ready())
    except StoppedError:
        raise NotReadyError([f"interrupted while waiting: {last[0]}"]) from None
    except TimeoutError:
        reasons = [f"not ready after {seconds:g} s: {last[0]}", *await pod_reasons(api, live)]
        raise NotReadyError(reasons) from None


def judged_by(live: Object, inputs: Object) -> Readiness:
    """How an object stands by what the program waits for, else by its kind's rule."""
    wanted = expectations(inputs)
    return met(live, wanted) if wanted else readiness(live)


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
    policy = (annotation(inputs, _PROPAGATION) or "foreground").capitalize()
    options: dict[str, Any] = {"propagationPolicy": policy}
    answer = await api.delete(
        reference.api_version, reference.kind, reference.name, reference.namespace, options=options
    )
    if answer is None or skips_waiting(inputs):
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
