"""What the driver's compute-domain-controller does, with its pod's own token.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/compute-domain-controller`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.drivers.nvidia.labels import API, KIND
from dra_fleet.drivers.nvidia.simulation.compute_domains.objects import (
    CLIQUE_KIND,
    DOMAIN,
    channel_template,
    daemon_name,
    daemon_set,
    daemon_template,
)
from dra_fleet.rehearsal.agent.view import RESOURCE_API

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object

CONFLICT = 409


@dataclass(frozen=True, kw_only=True)
class Controller:
    """A controller's pod at work.

    Args:
        api: acts as the pod.
        namespace: the driver's, where the daemons run.
        image: of the daemons.
        gates: the pod's FEATURE_GATES, which the daemons get too.
        has_cliques: whether daemons tell each other by ComputeDomainClique, not by the domain's status.
        has_daemons: False where the host's own IMEX daemon is used.
    """

    api: KubeApi
    namespace: str
    image: str
    gates: str
    has_cliques: bool
    has_daemons: bool

    async def reconcile(self) -> bool:
        """Bring all ComputeDomains in order once; whether nothing is left to wait for.

        Raises:
            ApiError: the pod may not do something, or a name is taken.
        """
        domains = (await self.api.list(API, KIND))["items"]
        members = await self._members()
        done = True
        for domain in domains:
            if "deletionTimestamp" in domain["metadata"]:
                done &= await self._remove(domain)
            else:
                await self._admit(domain, members.get(domain["metadata"]["uid"], []))
        return done

    async def _members(self) -> dict[str, list[Object]]:
        """The nodes of each domain, as the daemons report them."""
        if not self.has_cliques:
            return {}
        found: dict[str, list[Object]] = {}
        for clique in (await self.api.list(API, CLIQUE_KIND, self.namespace))["items"]:
            uid = clique["metadata"].get("labels", {}).get(DOMAIN, "")
            nodes: list[Object] = [
                {
                    "name": daemon["nodeName"],
                    "ipAddress": daemon["ipAddress"],
                    "cliqueID": daemon["cliqueID"],
                    "index": daemon.get("index", 0),
                    "status": daemon.get("status", "NotReady"),
                }
                for daemon in clique.get("daemons", [])
            ]
            found.setdefault(uid, []).extend(nodes)
        return found

    async def _admit(self, domain: Object, members: list[Object]) -> None:
        meta = domain["metadata"]
        if DOMAIN not in meta.get("finalizers", []):
            meta["finalizers"] = [*meta.get("finalizers", []), DOMAIN]
            domain = await self.api.replace(domain)
        if self.has_daemons:
            await self._ensure(domain, daemon_template(domain, self.namespace))
            await self._ensure(domain, daemon_set(domain, self.namespace, self.image, self.gates))
        await self._ensure(domain, channel_template(domain))
        await self._tell(domain, members)

    async def _ensure(self, domain: Object, body: Object) -> None:
        meta = body["metadata"]
        present = await self.api.find(body["apiVersion"], body["kind"], meta["name"], meta["namespace"])
        if present is None:
            await self.api.create(body)
        elif present["metadata"].get("labels", {}).get(DOMAIN) != domain["metadata"]["uid"]:
            raise ApiError(
                CONFLICT,
                "AlreadyExists",
                f"error creating {body['kind']} '{meta['namespace']}/{meta['name']}': "
                f'{body["kind"].lower()}s "{meta["name"]}" already exists',
                {},
            )

    async def _tell(self, domain: Object, members: list[Object]) -> None:
        """Write the status: ready with enough nodes, all of them ready."""
        before: Object = domain.get("status") or {}
        outside = [item for item in before.get("nodes", []) if not self.has_cliques or not item["cliqueID"]]
        nodes = sorted([*members, *outside], key=lambda item: str(item["name"]))
        enough = len(nodes) >= domain["spec"].get("numNodes", 0)
        ready = enough and all(item["status"] == "Ready" for item in nodes)
        status: dict[str, Any] = {"status": "Ready" if ready or not self.has_daemons else "NotReady"}
        if nodes:
            status["nodes"] = nodes
        if status != before:
            await self.api.replace({**domain, "status": status}, subresource="status")

    async def _remove(self, domain: Object) -> bool:
        """Take away what belongs to a domain that is being deleted, then let it go. Whether it may go."""
        uid = domain["metadata"]["uid"]
        selector = {"labelSelector": f"{DOMAIN}={uid}"}
        templates = (await self.api.list(RESOURCE_API, "ResourceClaimTemplate", params=selector))["items"]
        sets = [await self.api.find("apps/v1", "DaemonSet", daemon_name(domain), self.namespace)]
        left = [*templates, *(item for item in sets if item is not None)]
        for item in left:
            await self._let_go(item)
        for node in (await self.api.list("v1", "Node", params=selector))["items"]:
            del node["metadata"]["labels"][DOMAIN]
            await self.api.replace(node)
        if left:
            return False
        await self._without_finalizer(domain)
        return True

    async def _let_go(self, item: Object) -> None:
        meta = item["metadata"]
        if "deletionTimestamp" not in meta:
            await self.api.delete(item["apiVersion"], item["kind"], meta["name"], meta["namespace"])
        now = await self.api.find(item["apiVersion"], item["kind"], meta["name"], meta["namespace"])
        if now is not None:
            await self._without_finalizer(now)

    async def _without_finalizer(self, item: Object) -> None:
        finalizers = item["metadata"].get("finalizers", [])
        if DOMAIN in finalizers:
            item["metadata"]["finalizers"] = [name for name in finalizers if name != DOMAIN]
            await self.api.replace(item)
