"""The NVIDIA driver's gpu-kubelet-plugin: publishes GPUs and MIG partitions, judges claims' configuration.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/gpu-kubelet-plugin` and
`hack/kubelet-plugin-prestart.sh` (main, 2026-08-07).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.nvidia.devices import DRIVER, nvidia_devices
from dra_fleet.drivers.nvidia.driver import DRIVER as INSTALLED
from dra_fleet.drivers.nvidia.modes import dynamic_devices
from dra_fleet.drivers.nvidia.shares import GATE, NO_SHARES, is_option, with_parts
from dra_fleet.drivers.nvidia.simulation.gates import (
    chart_version,
    feature_gates,
    refuse_what_is_not_rehearsed,
)
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.opaque import kinds_in
from dra_fleet.drivers.nvidia.simulation.preparing import Preparing, name_of
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed, StartFailed, environment_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.published import PublishedDevice
    from dra_fleet.rehearsal.world.node import Host

OPERATOR_ROOT = "/run/nvidia/driver"
PRESTART = "kubelet-plugin-prestart.sh"
DYNAMIC: Final = "DynamicMIG"
SHARES = "CONSUMABLE_SHARES"
"""The variable of the chart's `consumableShares`."""


def prestart_problem(container: Object, host: Host) -> str | None:
    """What the init container would keep logging while it waits for the driver; None once it passes."""
    if PRESTART not in " ".join([*container.get("command", []), *container.get("args", [])]):
        return None
    driver = parts_of(host).nvidia
    present = driver.driver_root if driver else None
    root = environment_of(container).get("NVIDIA_DRIVER_ROOT") or "/"
    if present is not None and present.rstrip("/") == root.rstrip("/"):
        return None
    text = (
        "Check failed. Has the NVIDIA GPU driver been set up? It is expected to be installed under "
        f"NVIDIA_DRIVER_ROOT (currently set to '{root}') in the host filesystem. If that path appears to be "
        "unexpected: review the DRA driver's 'nvidiaDriverRoot' Helm chart variable. Otherwise, review if "
        "the GPU driver has actually been installed under that path."
    )
    return text + _hint(root, present)


def _shares(option: str, gates: Mapping[str, bool]) -> str:
    """How claims share a device.

    Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/main.go#L306-L315
    """
    if option in NO_SHARES:
        return ""
    if not gates.get(GATE, False):
        raise StartFailed(f"--consumable-shares requires feature gate {GATE} to be enabled")
    if not is_option(option):
        raise StartFailed(
            f'invalid value for --consumable-shares: "{option}" '
            "(must be 'disabled', 'memory', 'unlimited', or a positive integer)"
        )
    return option


def _hint(root: str, present: str | None) -> str:
    if root == "/" and present == OPERATOR_ROOT:
        return (
            " Hint: '/run/nvidia/driver/usr/bin/nvidia-smi' exists on the host, you may want to re-install "
            "the DRA driver Helm chart with --set nvidiaDriverRoot=/run/nvidia/driver"
        )
    if root == OPERATOR_ROOT:
        return (
            " Hint: NVIDIA_DRIVER_ROOT is set to '/run/nvidia/driver' which typically means that the NVIDIA "
            "GPU Operator manages the GPU driver. Make sure that the GPU Operator is deployed and healthy."
        )
    return ""


class NvidiaGpuPlugin(NodePlugin):
    """Publishes the GPUs of a host as its MIG layout shows them."""

    command: ClassVar[str] = "gpu-kubelet-plugin"
    _counters: tuple[Object, ...] = ()

    @property
    @override
    def driver(self) -> str:
        return DRIVER

    @override
    def devices(self, host: Host) -> list[Object]:
        gates = feature_gates(self.environment, self.version)
        refuse_what_is_not_rehearsed(gates)
        found = parts_of(host)
        if found.nvidia is None:
            return []
        chart, versions = (
            chart_version(self.version),
            (found.nvidia.driver_version, found.nvidia.cuda_version),
        )
        if gates.get(DYNAMIC, False):
            made, self._counters = dynamic_devices(found.gpus, chart, versions=versions, seen=self._seen)
            bodies = [device.placed for device in made]
        else:
            devices = nvidia_devices(
                found.gpus, driver_version=versions[0], cuda_version=versions[1], chart=chart
            )
            bodies = [device.to_object() for device in devices]
        shares = _shares(self.environment.get(SHARES, ""), gates)
        return [with_parts(body, shares) for body in bodies]

    def _seen(self, device: PublishedDevice) -> NodeDevice:
        # What nobody knows how many there are of is no counter: a GPU would have none of it to give.
        return known_device(self.driver, device, device.assumed)

    @override
    def counters(self) -> list[Object]:
        return list(self._counters)

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        chart = chart_version(self.version)
        facts = INSTALLED.facts
        driver = Preparing(
            plugin=self,
            published=published,
            gates=feature_gates(self.environment, self.version),
            kinds=kinds_in(chart),
            takes_others=facts.is_older(chart.version, "0.5.0"),
            judges_admin_access=facts.admin_access is not None
            and not facts.is_older(chart.version, facts.admin_access.since),
            shares=self.environment.get(SHARES, "") not in NO_SHARES,
        )
        name = name_of(claim)
        try:
            driver.prepare(claim, beside)
        except PrepareFailed as error:
            raise PrepareFailed(f"error preparing devices for claim {name}: {error}") from error
