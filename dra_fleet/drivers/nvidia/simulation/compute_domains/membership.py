"""A compute-domain-daemon tells the others of its clique that it is there, with its pod's own token.

On a node of no clique it tells the domain itself; the real controller does that in its place.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/compute-domain-daemon`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia.labels import API, KIND
from dra_fleet.drivers.nvidia.simulation.compute_domains.objects import CLIQUE, CLIQUE_KIND, DOMAIN

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object


async def join(api: KubeApi, pod: Object, clique: str, *, by_clique: bool) -> bool:
    """Enter a daemon as ready; whether that changed anything.

    Args:
        api: acts as the daemon's pod.
        pod: the daemon's pod.
        clique: of its node; empty on a node of none.
        by_clique: whether this version keeps the members of a clique in a ComputeDomainClique.

    Raises:
        ApiError: it may not, or another daemon was faster.
    """
    if by_clique and clique:
        return await _join_clique(api, pod, clique)
    return await _join_status(api, pod, clique)


async def leave(api: KubeApi, pod: Object, clique: str, *, by_clique: bool) -> None:
    """Take a daemon's entry out; the arguments are those of `join`.

    Raises:
        ApiError: it may not, or another daemon was faster.
    """
    node, meta = pod["spec"]["nodeName"], pod["metadata"]
    if by_clique and clique:
        present = await api.find(API, CLIQUE_KIND, f"{_domain_of(pod)}.{clique}", meta["namespace"])
        if present is not None:
            daemons = present.get("daemons", [])
            present["daemons"] = [item for item in daemons if item["nodeName"] != node]
            await api.replace(present)
        return
    domain = await _find_domain(api, _domain_of(pod))
    nodes = (domain or {}).get("status", {}).get("nodes", [])
    if domain is not None and any(item["name"] == node for item in nodes):
        domain["status"]["nodes"] = [item for item in nodes if item["name"] != node]
        await api.replace(domain, subresource="status")


async def _join_clique(api: KubeApi, pod: Object, clique: str) -> bool:
    meta, uid = pod["metadata"], _domain_of(pod)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    name = f"{uid}.{clique}"
    present = await api.find(API, CLIQUE_KIND, name, meta["namespace"])
    if present is None:
        labels = {DOMAIN: uid, CLIQUE: clique}
        present = await api.create(
            {
                "apiVersion": API,
                "kind": CLIQUE_KIND,
                "metadata": {
                    "name": name,
                    "namespace": meta["namespace"],
                    "labels": labels,
                    "ownerReferences": [owner],
                },
            }
        )
    daemons = _with_entry(present.get("daemons", []), "nodeName", pod, clique)
    if daemons is None:
        return False
    owners: list[Object] = present["metadata"].get("ownerReferences", [])
    if all(item["uid"] != owner["uid"] for item in owners):
        present["metadata"]["ownerReferences"] = [*owners, owner]
    await api.replace({**present, "daemons": daemons})
    return True


async def _join_status(api: KubeApi, pod: Object, clique: str) -> bool:
    domain = await _find_domain(api, _domain_of(pod))
    if domain is None:
        return False
    status: Object = domain.get("status") or {"status": "NotReady"}
    nodes = _with_entry(status.get("nodes", []), "name", pod, clique)
    if nodes is None:
        return False
    await api.replace({**domain, "status": {**status, "nodes": nodes}}, subresource="status")
    return True


def _with_entry(entries: list[Object], key: str, pod: Object, clique: str) -> list[Object] | None:
    """The entries with that of a daemon's pod, ready; None where it is there already.

    `key`: of the node's name. An index that was given once is kept, else it is the lowest that nobody has.
    """
    node = pod["spec"]["nodeName"]
    before = next((item for item in entries if item[key] == node), None)
    others = [item for item in entries if item[key] != node]
    taken = {item.get("index") for item in others}
    free = next(number for number in range(len(others) + 1) if number not in taken)
    mine: Object = {
        key: node,
        "ipAddress": str(pod.get("status", {}).get("podIP", "")),
        "cliqueID": clique,
        "index": free if before is None else before.get("index", free),
        "status": "Ready",
    }
    return None if before == mine else [*others, mine]


async def _find_domain(api: KubeApi, uid: str) -> Object | None:
    domains = (await api.list(API, KIND))["items"]
    return next((item for item in domains if item["metadata"]["uid"] == uid), None)


def _domain_of(pod: Object) -> str:
    return str(pod["metadata"]["labels"][DOMAIN])
