"""The NVIDIA driver's compute-domain-kubelet-plugin: one IMEX channel and one daemon per node.

ComputeDomains themselves (daemons, cliques, readiness) are not simulated.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07,
`cmd/compute-domain-kubelet-plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from fleet.drivers.nvidia_devices import COMPUTE_DOMAIN_DRIVER, as_semver, compute_domain_devices
from rehearsal.agent.drivers.gates import feature_gates
from rehearsal.agent.drivers.plugin import NodePlugin, StartFailed

if TYPE_CHECKING:
    from clusters.client import Object
    from rehearsal.world.hardware import Host

DNS_NAMES_FLOOR = "570.158.1"
"""The lowest driver that takes DNS names for IMEX daemons (`main.go`)."""


class ComputeDomainPlugin(NodePlugin):
    """Publishes channel-0 and daemon-0."""

    command: ClassVar[str] = "compute-domain-kubelet-plugin"

    @property
    @override
    def driver(self) -> str:
        return COMPUTE_DOMAIN_DRIVER

    @override
    def devices(self, host: Host) -> list[Object]:
        gates = feature_gates(self.environment, self.version)
        version = host.nvidia.driver_version if host.nvidia else "0.0.0"
        if gates.get("IMEXDaemonsWithDNSNames", False) and _older(version, DNS_NAMES_FLOOR):
            raise StartFailed(
                "minimum GPU driver version check failed: IMEXDaemonsWithDNSNames requires at least "
                f"570.158.01, found {version}"
            )
        return [device.to_object() for device in compute_domain_devices()]

    @override
    def prepare(self, claim: Object, published: dict[str, Object]) -> None:
        self.require_published(claim, published)


def _older(version: str, floor: str) -> bool:
    return _numbers(version) < _numbers(floor)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, as_semver(version).split(".")))
