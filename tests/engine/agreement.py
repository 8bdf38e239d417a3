"""Comparison of a rehearsal with the proof of its stack: devices, guaranteed pods, pods that never fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Object = dict[str, Any]


def disagreements(proof: Mapping[str, Any], clusters: Mapping[str, Any]) -> list[str]:
    """Return the differences between a rehearsal and its proof.

    Args:
        proof: what `dra-fleet prove STACK --json` prints.
        clusters: the clusters that `dra-fleet rehearse status --json` shows.
    """
    found = [
        text
        for item in proof["workloads"]
        for text in _workload(item, clusters.get(item["cluster"], {}).get("workloads", {}))
    ]
    for name, shown in clusters.items():
        found += _devices(name, _per_node(proof, name), shown["pools"])
    proved = {(item["cluster"], item["name"]) for item in proof["workloads"]}
    return found + [
        f"{cluster}/{name}: was not proved"
        for cluster, shown in clusters.items()
        for name in shown["workloads"]
        if (cluster, name) not in proved
    ]


def _workload(item: Object, shown: Mapping[str, Any]) -> Iterator[str]:
    name, copies = f"{item['cluster']}/{item['name']}", item["copies"]
    if item["name"] not in shown:
        yield f"{name}: was proved and does not run"
        return
    allocated = shown[item["name"]]["allocated"]
    started = item["admission"]["word"] if item.get("admission") else "guaranteed"
    if started != "guaranteed" and allocated not in (0, copies):
        yield f"{name}: its queue starts all {copies} copies or none, and {allocated} hold devices"
    if started == "never" and allocated:
        yield f"{name}: waits in its queue, and {allocated} copies hold devices"
    if started != "guaranteed":
        return
    if item["word"] == "guaranteed" and allocated != copies:
        yield f"{name}: guaranteed for {copies} copies, and {allocated} hold devices"
    if item["word"] in ("never", "error") and allocated >= copies:
        yield f"{name}: {item['word']} for {copies} copies, and {allocated} hold devices"


def _per_node(proof: Mapping[str, Any], cluster: str) -> dict[str, int]:
    """By pool the devices that one node was predicted to publish, where that is known."""
    return {
        fit["pool"]: fit["devices"]
        for item in (*proof["claims"], *proof["workloads"])
        if item["cluster"] == cluster
        for fit in item["pools"]
        if fit["perNode"] is not None
    }


def _devices(cluster: str, per_node: Mapping[str, int], pools: Mapping[str, Any]) -> Iterator[str]:
    for pool, shown in pools.items():
        predicted = per_node.get(pool, -1) * shown["nodes"]
        if pool in per_node and shown["devices"] != predicted:
            yield f"{cluster}/{pool}: {predicted} devices predicted, and {shown['devices']} are published"
