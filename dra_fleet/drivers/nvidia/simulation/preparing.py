"""How the NVIDIA driver prepares a claim, or refuses to: which configuration is for which device.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/device_state.go
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia.simulation.assigning import NOT_RECOGNIZED, Assigning
from dra_fleet.drivers.nvidia.simulation.opaque import DEVICE_TYPES, Applied, invalid, judge, normalized
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.drivers.decoding import Go
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin


_DEFAULTS = {kind: {"kind": name} for name, kind in DEVICE_TYPES.items()}


@dataclass(frozen=True, kw_only=True)
class Preparing:
    """The driver on a node, as far as it judges claims.

    Attributes:
        plugin: Whose results are meant.
        published: The node's published devices by name.
        gates: The driver's feature gates.
        kinds: The kinds of configuration that it decodes, with their fields.
        takes_others: Whether a kind of the driver's other plugin is for every device.
        judges_admin_access: Whether it refuses admin access to partitions and with a configuration.
        shares: Whether several claims may hold parts of a device.
    """

    plugin: NodePlugin
    published: Mapping[str, Object]
    gates: Mapping[str, bool]
    kinds: Mapping[str, Mapping[str, Go]]
    takes_others: bool
    judges_admin_access: bool
    shares: bool

    def prepare(self, claim: Object, beside: Sequence[Object]) -> None:
        """Judge a claim in the order in which the driver does.

        Args:
            claim: the allocated claim.
            beside: the other prepared claims of the node.

        Raises:
            PrepareFailed: with the driver's words.
        """
        watched = self._unwatchable(claim) if self.judges_admin_access else ""
        if watched:
            name = name_of(claim)
            raise PrepareFailed(f"claim {name} requests admin access {watched}, which is not supported")
        try:
            for other in beside:
                self._refuse_overlap(claim, other)
        except PrepareFailed as error:
            raise PrepareFailed(f"unable to prepare claim {_uid(claim)}: {error}") from error
        try:
            self._apply(claim)
        except PrepareFailed as error:
            raise PrepareFailed(f"prepare devices failed: {error}") from error

    def _unwatchable(self, claim: Object) -> str:
        """Why admin access is not granted; empty where it is, or where none is asked for."""
        watched = [result for result in self.plugin.results(claim) if result.get("adminAccess")]
        types = (
            self.published.get(result["device"], {}).get("attributes", {}).get("type") for result in watched
        )
        if any(kind is not None and kind["string"] != "gpu" for kind in types):
            return "on a non-full-GPU device"
        requests = {result["request"] for result in watched}
        named = (config.get("requests") or requests for config in self._assigning.configs(claim))
        return "with a device configuration" if any(requests & set(one) for one in named) else ""

    def _refuse_overlap(self, claim: Object, other: Object) -> None:
        """Two claims that hold parts of one device need the same configuration of it."""
        for device in sorted(self._held(claim) & self._held(other)):
            if not self.shares:
                raise PrepareFailed(
                    f"requested device {device} is already allocated to different claim {_uid(other)}"
                )
            there = self._configuration(other, device, "existing prepared claim")
            if self._configuration(claim, device, "incoming claim") != there:
                raise PrepareFailed(
                    f"requested device {device} has conflicting configuration with already prepared claim "
                    f"{_uid(other)}"
                )

    def _held(self, claim: Object) -> set[str]:
        results = self.plugin.results(claim)
        return {result["device"] for result in results if not result.get("adminAccess")}

    def _configuration(self, claim: Object, device: str, which: str) -> Object:
        """How a claim wants a device to be configured, with what is implied."""
        try:
            assigned = self._assigned(claim)
        except PrepareFailed as error:
            raise PrepareFailed(_unresolved(claim, device, which, str(error))) from error
        for parameters, results in assigned:
            if all(result["device"] != device for result in results):
                continue
            problem = invalid(parameters, self.gates)
            told = f"error validating config: {problem}" if problem else ""
            if parameters["kind"] not in DEVICE_TYPES:
                told = f"{NOT_RECOGNIZED}: *v1beta1.{parameters['kind']}"
            if told:
                raise PrepareFailed(_unresolved(claim, device, which, told))
            return normalized(parameters, self.gates)
        return _DEFAULTS[self._type_of(device)]

    def _apply(self, claim: Object) -> None:
        for parameters, results in self._assigned(claim):
            if parameters["kind"] not in DEVICE_TYPES:
                raise PrepareFailed(NOT_RECOGNIZED)
            uuids = [
                self.published[result["device"]]["attributes"].get("uuid", {}).get("string", "")
                for result in results
            ]
            requests = [result["request"] for result in results]
            at = Applied(requests=requests, uid=_uid(claim), uuids=sorted(set(uuids)), shares=self.shares)
            judge(parameters, self.gates, at)

    @property
    def _assigning(self) -> Assigning:
        return Assigning(
            driver=self.plugin.driver,
            kinds=self.kinds,
            types=DEVICE_TYPES,
            refused=_of_another_type,
            takes_others=self.takes_others,
        )

    def _assigned(self, claim: Object) -> list[tuple[Object, list[Object]]]:
        return self._assigning.assigned(claim, self.plugin.results(claim), self._type_of)

    def _type_of(self, device: str) -> str:
        if device not in self.published:
            raise PrepareFailed(f'allocatable not found for device "{device}"')
        return self.published[device]["attributes"]["type"]["string"]


def _of_another_type(kind: str, result: Object, actual: str) -> str:
    request = result["request"]
    return f'cannot apply {kind} to device "{result["device"]}" of type "{actual}" (request: {request})'


def _unresolved(claim: Object, device: str, which: str, problem: str) -> str:
    return f"error resolving config for {which} {_uid(claim)} on device {device}: {problem}"


def name_of(claim: Object) -> str:
    """A claim as the driver writes it."""
    meta = claim["metadata"]
    return f"{meta['namespace']}/{meta['name']}:{meta['uid']}"


def _uid(claim: Object) -> str:
    return claim["metadata"]["uid"]
