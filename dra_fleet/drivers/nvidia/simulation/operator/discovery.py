"""Node feature discovery: workers write NodeFeature objects, the master makes node labels of them.

Source: https://github.com/kubernetes-sigs/node-feature-discovery. The master takes labels of nvidia.com as
well, as the operator's chart tells it to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.drivers.nvidia.simulation.operator.capacity import strategy_of
from dra_fleet.drivers.nvidia.simulation.operator.features import gpu_labels, system_labels
from dra_fleet.drivers.nvidia.simulation.operator.roles import Role, role_of
from dra_fleet.rehearsal.agent.driver_pod import is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.world.node import Host

API: Final = "nfd.k8s-sigs.io/v1alpha1"
KIND: Final = "NodeFeature"
NODE_NAME: Final = "nfd.node.kubernetes.io/node-name"
OWNED: Final = "nfd.node.kubernetes.io/feature-labels"


async def publish(api: KubeApi, pod: Object, host: Host, others: Iterable[Object]) -> bool:
    """Write what a worker finds on its node; whether that was news.

    Args:
        api: acts as the worker's pod.
        pod: the worker's.
        host: its machine.
        others: the pods on it; where GPU feature discovery runs, its findings are in a file there.
    """
    found = system_labels(host)
    for other in others:
        if role_of(other) is Role.FEATURE_DISCOVERY and is_ready(other):
            found |= gpu_labels(host, strategy_of(other))
    namespace = pod["metadata"]["namespace"]
    present = await api.find(API, KIND, host.name, namespace)
    body: Object = {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": host.name, "namespace": namespace, "labels": {NODE_NAME: host.name}},
        "spec": {"labels": found},
    }
    if present is None:
        await api.create(body)
        return True
    if present["spec"].get("labels") == found:
        return False
    body["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"]
    await api.replace(body)
    return True


async def label_nodes(api: KubeApi) -> None:
    """Give every node the labels of its NodeFeature objects; take away those that are no more.

    Args:
        api: acts as the master's pod.
    """
    found: dict[str, dict[str, str]] = {}
    for item in (await api.list(API, KIND))["items"]:
        node = item["metadata"].get("labels", {}).get(NODE_NAME, "")
        found.setdefault(node, {}).update(cast("dict[str, str]", item["spec"].get("labels") or {}))
    for node in (await api.list("v1", "Node"))["items"]:
        patch = _patch(node, found.get(node["metadata"]["name"], {}))
        if patch:
            await api.merge("v1", "Node", node["metadata"]["name"], {"metadata": patch})


def _patch(node: Object, wanted: dict[str, str]) -> dict[str, Any]:
    meta = node["metadata"]
    labels: dict[str, str] = meta.get("labels", {})
    noted: str = meta.get("annotations", {}).get(OWNED, "")
    before = {key for key in noted.split(",") if key}
    change: dict[str, str | None] = {key: None for key in before - set(wanted) if key in labels}
    change |= {key: value for key, value in wanted.items() if labels.get(key) != value}
    patch: dict[str, Any] = {"labels": change} if change else {}
    if before != set(wanted):
        patch["annotations"] = {OWNED: ",".join(sorted(wanted))}
    return patch
