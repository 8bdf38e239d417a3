"""The NVIDIA driver's compute-domain-kubelet-plugin: one IMEX channel and one daemon per node.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07,
`cmd/compute-domain-kubelet-plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from dra_fleet.clusters.client import ApiError
from dra_fleet.drivers.nvidia.devices import COMPUTE_DOMAIN_DRIVER, compute_domain_devices
from dra_fleet.drivers.nvidia.facts import API, CLIQUE_LABEL, KIND
from dra_fleet.drivers.nvidia.simulation.compute_domains import CLIQUE_KIND, DOMAIN
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.opaque import chart_version, feature_gates, kinds_in
from dra_fleet.drivers.nvidia.simulation.plugin import NOT_RECOGNIZED, Assigning
from dra_fleet.kubernetes.cel.semver import as_semver
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed, StartFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.drivers.plugin import AtWork
    from dra_fleet.rehearsal.simulator.node import Host

DNS_NAMES_FLOOR = "570.158.1"
"""The lowest driver that takes DNS names for IMEX daemons (`main.go`)."""
CHANNEL: Final = "ComputeDomainChannelConfig"
_TYPES: Final = {CHANNEL: "channel", "ComputeDomainDaemonConfig": "daemon"}
_KINDS: Final = {device: kind for kind, device in _TYPES.items()}


class ComputeDomainPlugin(NodePlugin):
    """Publishes channel-0 and daemon-0; a channel is ready once its domain's daemon on the node is."""

    command: ClassVar[str] = "compute-domain-kubelet-plugin"

    @property
    @override
    def driver(self) -> str:
        return COMPUTE_DOMAIN_DRIVER

    @override
    def devices(self, host: Host) -> list[Object]:
        gates = feature_gates(self.environment, self.version)
        if self.environment.get("IMEX_MODE") == "hostManaged":
            raise StartFailed(
                "(rehearsal) imex.mode hostManaged requests an IMEX daemon on the host, which is not "
                "simulated; rehearse with driverManaged"
            )
        driver = parts_of(host).nvidia
        version = driver.driver_version if driver else "0.0.0"
        if gates.get("IMEXDaemonsWithDNSNames", False) and _numbers(version) < _numbers(DNS_NAMES_FLOOR):
            raise StartFailed(
                "minimum GPU driver version check failed: IMEXDaemonsWithDNSNames requires at least "
                f"570.158.01, found {version}"
            )
        return [device.to_object() for device in compute_domain_devices()]

    @override
    def node_labels(self, host: Host) -> dict[str, str]:
        reported = self.environment.get("GPU_CLIQUE_LABEL_ENABLED") == "true"
        clique = parts_of(host).clique
        return {CLIQUE_LABEL: clique} if reported and clique else {}

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        del beside
        try:
            self.require_published(claim, published)
            self._check(claim)
        except PrepareFailed as error:
            raise PrepareFailed(_reported(claim, str(error))) from error

    def _check(self, claim: Object) -> None:
        try:
            configs = self._configs(claim)
        except PrepareFailed as error:
            raise PrepareFailed(f"error generating configResultsMap: {error}") from error
        for kind, parameters in configs:
            if kind not in _TYPES:
                raise PrepareFailed(NOT_RECOGNIZED)
            if not parameters.get("domainID"):
                raise PrepareFailed("error validating config: domainID cannot be empty")

    @override
    async def settle(self, at: AtWork, claim: Object) -> None:
        try:
            for kind, parameters in self._configs(claim):
                await self._apply(at, claim, kind, str(parameters["domainID"]))
        except (ApiError, PrepareFailed) as error:
            raise PrepareFailed(_reported(claim, f"error applying config: {error}")) from error

    @override
    async def release(self, at: AtWork, claim: Object) -> None:
        for kind, parameters in self._configs(claim):
            if kind != CHANNEL:
                continue
            node = await at.api.get("v1", "Node", at.host.name)
            labels = node["metadata"]["labels"]
            if labels.get(DOMAIN) == parameters["domainID"]:
                del labels[DOMAIN]
                await at.api.replace(node)

    async def _apply(self, at: AtWork, claim: Object, kind: str, uid: str) -> None:
        domain = next(
            (item for item in (await at.api.list(API, KIND))["items"] if item["metadata"]["uid"] == uid), None
        )
        if kind != CHANNEL:
            if domain is None:
                raise PrepareFailed(f"error getting common container edits: compute domain not found: {uid}")
            return
        if domain is None:
            raise PrepareFailed(f"error asserting ComputeDomain's namespace: ComputeDomain not found: {uid}")
        if domain["metadata"]["namespace"] != claim["metadata"]["namespace"]:
            raise PrepareFailed(
                "error asserting ComputeDomain's namespace: the ResourceClaim's namespace is different than "
                "the ComputeDomain's namespace"
            )
        await _label_node(at.api, at.host.name, uid)
        if not await self._is_ready(at, domain):
            raise PrepareFailed(
                "error asserting ComputeDomain Ready: current node not ready in ComputeDomain"
            )

    async def _is_ready(self, at: AtWork, domain: Object) -> bool:
        """Return True if the domain's daemon on this node is ready, by its clique or the domain's status."""
        gates = feature_gates(self.environment, self.version)
        entries: list[tuple[str, str]] = [
            (item["name"], item.get("status", "")) for item in domain.get("status", {}).get("nodes", [])
        ]
        joined = parts_of(at.host).clique
        if gates.get("ComputeDomainCliques", False) and joined:
            name = f"{domain['metadata']['uid']}.{joined}"
            clique = await at.api.find(API, CLIQUE_KIND, name, at.namespace)
            entries = [
                (item["nodeName"], item.get("status", "")) for item in (clique or {}).get("daemons", [])
            ]
        return (at.host.name, "Ready") in entries

    def _configs(self, claim: Object) -> list[tuple[str, Object]]:
        """Return the configuration of each device, by its kind; empty by default.

        Raises:
            PrepareFailed: with the driver's message.
        """
        assigning = Assigning(
            driver=self.driver,
            kinds=kinds_in(chart_version(self.version)),
            types=_TYPES,
            refused=lambda kind, result, _: f"cannot apply {kind} to request: {result['request']}",
            takes_others=True,
        )
        results, types = self.results(claim), _published_types()
        assigned = assigning.assigned(claim, results, types.__getitem__)
        configured = [result for _, devices in assigned for result in devices]
        return [
            *((parameters["kind"], parameters) for parameters, _ in assigned),
            *((_KINDS[types[result["device"]]], {}) for result in results if result not in configured),
        ]


def _published_types() -> dict[str, str]:
    devices = (device.to_object() for device in compute_domain_devices())
    return {device["name"]: device["attributes"]["type"]["string"] for device in devices}


async def _label_node(api: KubeApi, name: str, uid: str) -> None:
    node = await api.get("v1", "Node", name)
    labels = node["metadata"]["labels"]
    if labels.get(DOMAIN, uid) != uid:
        raise PrepareFailed(
            "error adding Node label for ComputeDomain: label already exists for a different ComputeDomain"
        )
    if DOMAIN not in labels:
        labels[DOMAIN] = uid
        await api.replace(node)


def _reported(claim: Object, text: str) -> str:
    meta = claim["metadata"]
    return (
        f"error preparing devices for claim {meta['namespace']}/{meta['name']}:{meta['uid']}: "
        f"prepare devices failed: {text}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, as_semver(version).split(".")))
