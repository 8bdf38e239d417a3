"""Events about pods, as kubelets write them: repeated ones are counted, not multiplied."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dra_fleet.clusters.client import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities

LONGEST_MESSAGE = 1024
CONFLICT = 409


class PodEvents:
    """Writes Warning events as the kubelets, which may create and patch events but not read them."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities
        self._counts: Counter[str] = Counter()

    async def record(self, node: str, pod: Object, reason: str, message: str) -> None:
        """Write an event about a pod, or count it again.

        Args:
            node: whose kubelet writes.
            pod: what it is about.
            reason: one CamelCase word.
            message: cut to the API's 1024 characters.
        """
        meta = pod["metadata"]
        message = message[:LONGEST_MESSAGE]
        digest = hashlib.sha256(f"{meta['uid']} {reason} {message}".encode()).hexdigest()[:16]
        name, namespace = f"{meta['name']}.{digest}", meta["namespace"]
        self._counts[name] += 1
        api = self._identities.kubelet(node)
        if self._counts[name] == 1:
            try:
                source = {"component": "kubelet", "host": pod["spec"]["nodeName"]}
                await api.create(event_of(pod, name, reason, message, source=source))
            except ApiError as error:
                if error.code != CONFLICT:
                    raise
            else:
                return
        patch = {"count": self._counts[name], "lastTimestamp": _now()}
        await api.merge("v1", "Event", name, patch, namespace=namespace)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def event_of(
    pod: Object, name: str, reason: str, message: str, *, source: Mapping[str, str], kind: str = "Warning"
) -> Object:
    """Return an event about a pod that happens now."""
    now = _now()
    meta = pod["metadata"]
    about = {key: meta[key] for key in ("name", "namespace", "uid")}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": meta["namespace"]},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about},
        "type": kind,
        "reason": reason,
        "message": message,
        "source": dict(source),
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
