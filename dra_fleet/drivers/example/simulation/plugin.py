"""dra-example-driver's kubelet plugin: devices without hardware.

Source: https://github.com/kubernetes-sigs/dra-example-driver, `cmd/dra-example-kubeletplugin` (v0.4.0).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from dra_fleet.drivers.example.devices import PROFILES, Options, example_counters, example_devices
from dra_fleet.drivers.example.simulation.opaque import judge
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed, StartFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host

_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")


class ExamplePlugin(NodePlugin):
    """Publishes devices as its profile says, under DRIVER_NAME."""

    command: ClassVar[str] = "dra-example-kubeletplugin"

    @property
    @override
    def driver(self) -> str:
        return self.environment.get("DRIVER_NAME") or f"{self._profile}.example.com"

    @property
    def _profile(self) -> str:
        return self.environment.get("DEVICE_PROFILE", "gpu")

    @override
    def devices(self, host: Host) -> list[Object]:
        return [device.to_object() for device in example_devices(host.name, self._options())]

    @override
    def counters(self) -> list[Object]:
        return example_counters(self._options())

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        del beside
        told: list[Object] = claim["status"]["allocation"]["devices"].get("config", [])
        ours = [config for config in told if config.get("opaque", {}).get("driver") == self.driver]
        try:
            judge(ours, self._profile, lambda: self._requests(claim, published))
        except PrepareFailed as error:
            uid = claim["metadata"]["uid"]
            raise PrepareFailed(
                f"error preparing devices for claim {uid}: prepare failed: {error}"
            ) from error

    def _requests(self, claim: Object, published: dict[str, Object]) -> list[tuple[str, str]]:
        self.require_published(claim, published)
        return [(result["request"], result["device"]) for result in self.results(claim)]

    def _options(self) -> Options:
        if self._profile not in PROFILES:
            known = " ".join(f'"{name}"' for name in PROFILES)
            raise StartFailed(f'invalid device profile "{self._profile}", valid profiles are [{known}]')
        return Options(
            driver=self.driver,
            profile=self._profile,
            count=self._count("NUM_DEVICES", 8),
            partitions=self._number("GPU_PARTITIONS", 0),
            is_shared=self._flag("GPU_ALLOW_MULTIPLE_ALLOCATIONS"),
            waits_for_binding=self._flag("BINDING_CONDITIONS"),
            numa_nodes=self._count("CPU_NUMA_NODES", 8),
            cpus=self._number("CPUS_PER_NUMA_NODE", 4),
        )

    def _count(self, name: str, usual: int) -> int:
        count = self._number(name, usual)
        if count < 0:
            raise StartFailed("panic: runtime error: makeslice: len out of range")
        return count

    def _number(self, name: str, usual: int) -> int:
        text = self.environment.get(name) or str(usual)
        if re.fullmatch(r"[+-]?[0-9]+", text) is None:
            raise StartFailed(_unparsed(text, "int", name, "ParseInt"))
        return int(text)

    def _flag(self, name: str) -> bool:
        text = self.environment.get(name) or "false"
        if text not in _TRUE + _FALSE:
            raise StartFailed(_unparsed(text, "bool", name, "ParseBool"))
        return text in _TRUE


def _unparsed(text: str, kind: str, name: str, function: str) -> str:
    """Source: https://github.com/urfave/cli/blob/v2.27.7/flag_int.go#L39."""
    flag = name.lower().replace("_", "-")
    return (
        f'Error: could not parse "{text}" as {kind} value from environment variable "{name}" for flag '
        f'{flag}: strconv.{function}: parsing "{text}": invalid syntax'
    )
