"""ComputeDomains as the NVIDIA driver runs them: its controller, and a daemon on every node that takes part.

IMEX itself and memory shared over NVLink are not simulated: a daemon is ready once its pod is.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from typing_extensions import override

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.drivers.nvidia.devices import COMPUTE_DOMAIN_DRIVER
from dra_fleet.drivers.nvidia.facts import API, CHANNEL_CLASS, CHANNEL_REQUEST, KIND
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.opaque import feature_gates
from dra_fleet.rehearsal.agent.driver_pod import is_ready
from dra_fleet.rehearsal.agent.view import POD, RESOURCE_API
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.plugin import StartFailed, environment_of
from dra_fleet.rehearsal.drivers.programs import Programs

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object


# IMEX itself and memory shared over NVLink are not simulated: a daemon is ready once its pod is. Source:
# https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07.


# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/compute-domain-controller` and
# `templates`.

DOMAIN: Final = "resource.nvidia.com/computeDomain"
"""Label with a ComputeDomain's UID on what belongs to it and on the nodes that take part; a finalizer."""
CLIQUE: Final = "resource.nvidia.com/computeDomain.cliqueID"
TARGET: Final = "resource.nvidia.com/computeDomainTarget"
CLIQUE_KIND: Final = "ComputeDomainClique"
DAEMON_ACCOUNT: Final = "compute-domain-daemon-service-account"
DAEMON: Final = "compute-domain-daemon"
CONTROLLER: Final = "compute-domain-controller"
_DAEMON_CLASS: Final = "compute-domain-daemon.nvidia.com"


def runs(pod: Object, binary: str) -> bool:
    """Return True if a container of a pod runs a binary."""
    return any(
        word.rpartition("/")[2] == binary
        for container in pod["spec"]["containers"]
        for word in (*container.get("command", []), *container.get("args", []))
    )


def daemon_name(domain: Object) -> str:
    """Return the name of a domain's DaemonSet and of the template of its claims."""
    return f"computedomain-daemon-{domain['metadata']['uid']}"


def daemon_template(domain: Object, namespace: str) -> Object:
    config = {"kind": "ComputeDomainDaemonConfig"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _metadata(domain, daemon_name(domain), namespace, "Daemon"),
        "spec": {"spec": _claim(domain, "daemon", _DAEMON_CLASS, config)},
    }


def channel_template(domain: Object) -> Object:
    """Return the ResourceClaimTemplate of a domain's pods, in the domain's namespace."""
    channel = domain["spec"]["channel"]
    config = {"kind": "ComputeDomainChannelConfig", "allocationMode": channel.get("allocationMode", "Single")}
    name, namespace = channel["resourceClaimTemplate"]["name"], domain["metadata"]["namespace"]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _metadata(domain, name, namespace, "Workload"),
        "spec": {"spec": _claim(domain, CHANNEL_REQUEST, CHANNEL_CLASS, config)},
    }


def _metadata(domain: Object, name: str, namespace: str, target: str) -> Object:
    labels = {DOMAIN: domain["metadata"]["uid"], TARGET: target}
    return {"name": name, "namespace": namespace, "finalizers": [DOMAIN], "labels": labels}


def _claim(domain: Object, request: str, device_class: str, config: Object) -> Object:
    opaque = {
        "driver": COMPUTE_DOMAIN_DRIVER,
        "parameters": {"apiVersion": API, "domainID": domain["metadata"]["uid"], **config},
    }
    return {
        "devices": {
            "requests": [{"name": request, "exactly": {"deviceClassName": device_class}}],
            "config": [{"requests": [request], "opaque": opaque}],
        }
    }


def daemon_set(domain: Object, namespace: str, image: str, gates: str) -> Object:
    """Return the DaemonSet of a domain's daemons: one on every node that has the domain's label."""
    label = {DOMAIN: domain["metadata"]["uid"]}
    environment: list[Object] = [{"name": "FEATURE_GATES", "value": gates}] if gates else []
    effects = ("NoSchedule", "NoExecute", "PreferNoSchedule")
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": daemon_name(domain),
            "namespace": namespace,
            "finalizers": [DOMAIN],
            "labels": label,
        },
        "spec": {
            "selector": {"matchLabels": label},
            "template": {
                "metadata": {"labels": label},
                "spec": {
                    "serviceAccountName": DAEMON_ACCOUNT,
                    "nodeSelector": label,
                    "tolerations": [{"operator": "Exists", "effect": effect} for effect in effects],
                    "resourceClaims": [{"name": DAEMON, "resourceClaimTemplateName": daemon_name(domain)}],
                    "containers": [
                        {
                            "name": DAEMON,
                            "image": image,
                            "command": [DAEMON, "run"],
                            "env": environment,
                            "resources": {"claims": [{"name": DAEMON}]},
                        }
                    ],
                },
            },
        },
    }


# The driver's compute-domain-controller, with its pod's own token.
#
# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/compute-domain-controller`.

CONFLICT: Final = 409


class Controller(Struct, frozen=True, kw_only=True):
    """A controller's pod at work.

    Args:
        api: acts as the pod.
        namespace: the driver's, where the daemons run.
        image: of the daemons.
        gates: the pod's FEATURE_GATES, which the daemons get too.
        has_cliques: whether daemons report each other by ComputeDomainClique, not by the domain's status.
        has_daemons: False where the host's own IMEX daemon is used.
    """

    api: KubeApi
    namespace: str
    image: str
    gates: str
    has_cliques: bool
    has_daemons: bool

    async def reconcile(self) -> bool:
        """Reconcile all ComputeDomains in order once; return True if nothing is left to wait for.

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
        """Return the nodes of each domain, as the daemons report them."""
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
        await self._report(domain, members)

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

    async def _report(self, domain: Object, members: list[Object]) -> None:
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


# A compute-domain-daemon reports the others of its clique that it is there, with its pod's own token.
#
# On a node of no clique it reports the domain itself; the real controller does that in its place.
# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/compute-domain-daemon`.


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


logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0


REFUSED: Final = (403, CONFLICT)

CLIQUES: Final = "ComputeDomainCliques"


class ComputeDomainParts(Programs):
    """Controllers and daemons of ComputeDomains on simulated machines."""

    @override
    async def keep(self, pod: Object) -> None:
        if not is_ready(pod) or crash_of(pod) is not None:
            return
        try:
            if runs(pod, CONTROLLER):
                await self._control(pod)
            elif runs(pod, DAEMON):
                await self._join(pod)
        except ApiError as error:
            if error.code not in REFUSED:
                raise
            if error.code != CONFLICT or error.reason == "AlreadyExists":
                await self._events.record(pod["spec"]["nodeName"], pod, "Failed", error.message)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)

    @override
    async def leave(self, pod: Object) -> None:
        """Remove a daemon from its domain; if it fails, the garbage collector does it later."""
        if not runs(pod, DAEMON) or crash_of(pod) is not None:
            return
        try:
            api = await self._identities.pod(pod)
            await leave(api, pod, self._clique(pod), by_clique=_has_cliques(pod))
        except ApiError as error:
            logger.info("%s leaves without taking its entry out: %s", key_of(pod), error)

    async def _control(self, pod: Object) -> None:
        environment, cliques = _environment(pod), _has_cliques(pod)
        followed = [
            (API, KIND, None),
            *([(API, CLIQUE_KIND, pod["metadata"]["namespace"])] if cliques else []),
        ]
        self._watch(pod, followed)
        controller = Controller(
            api=await self._identities.pod(pod),
            namespace=pod["metadata"]["namespace"],
            image=pod["spec"]["containers"][0]["image"],
            gates=environment.get("FEATURE_GATES", ""),
            has_cliques=cliques,
            has_daemons=environment.get("IMEX_MODE") != "hostManaged",
        )
        if not await controller.reconcile():
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)

    async def _join(self, pod: Object) -> None:
        api = await self._identities.pod(pod)
        if await join(api, pod, self._clique(pod), by_clique=_has_cliques(pod)):
            self._view.wake_pods_on(pod["spec"]["nodeName"])

    def _clique(self, pod: Object) -> str:
        return parts_of(self._machines.host(pod["spec"]["nodeName"])).clique or ""


def _environment(pod: Object) -> dict[str, str]:
    return environment_of(pod["spec"]["containers"][0])


def _has_cliques(pod: Object) -> bool:
    """Return True if the pod's version keeps members in ComputeDomainCliques."""
    version = pod["spec"]["containers"][0]["image"].rpartition(":")[2].removeprefix("v")
    return feature_gates(_environment(pod), version).get(CLIQUES, False)


def crash_of(pod: Object) -> str | None:
    """Return why a controller or daemon exits at start: its feature gates. None for any other pod."""
    if not (runs(pod, CONTROLLER) or runs(pod, DAEMON)):
        return None
    try:
        _has_cliques(pod)
    except StartFailed as problem:
        return str(problem)
    return None


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
    """Return the entries with a ready one for a daemon's pod; None if it exists already.

    `key`: the field with the node's name. A given index is kept; a new entry has the lowest free one.
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
