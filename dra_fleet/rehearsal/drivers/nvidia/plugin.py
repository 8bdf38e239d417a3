"""The NVIDIA driver's gpu-kubelet-plugin: publishes GPUs and MIG partitions, judges claims' configuration.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/gpu-kubelet-plugin` and
`hack/kubelet-plugin-prestart.sh` (main, 2026-08-07).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from dra_fleet.drivers.nvidia.devices import DRIVER, nvidia_devices
from dra_fleet.drivers.nvidia.shares import GATE, NO_SHARES, is_option, with_parts
from dra_fleet.rehearsal.drivers.nvidia.gates import (
    chart_version,
    feature_gates,
    refuse_what_is_not_rehearsed,
)
from dra_fleet.rehearsal.drivers.nvidia.hardware import parts_of
from dra_fleet.rehearsal.drivers.nvidia.opaque import DEVICE_TYPES, FIELDS, decode, judge
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed, StartFailed, environment_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host

OPERATOR_ROOT = "/run/nvidia/driver"
PRESTART = "kubelet-plugin-prestart.sh"
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
        devices = nvidia_devices(
            found.gpus,
            driver_version=found.nvidia.driver_version,
            cuda_version=found.nvidia.cuda_version,
            chart=chart_version(self.version),
        )
        shares = _shares(self.environment.get(SHARES, ""), gates)
        return [with_parts(device.to_object(), shares) for device in devices]

    @override
    def prepare(self, claim: Object, published: dict[str, Object]) -> None:
        meta = claim["metadata"]
        name = f"{meta['namespace']}/{meta['name']}:{meta['uid']}"
        watched = self._unwatchable(claim, published)
        if watched:
            raise PrepareFailed(
                f"error preparing devices for claim {name}: claim {name} requests admin access {watched}, "
                "which is not supported"
            )
        try:
            self.require_published(claim, published)
            self._judge_config(claim, published)
        except PrepareFailed as error:
            raise PrepareFailed(
                f"error preparing devices for claim {name}: prepare devices failed: {error}"
            ) from error

    def _unwatchable(self, claim: Object, published: dict[str, Object]) -> str:
        """Why admin access is not granted; empty where it is, or where none is asked for."""
        watched = [result for result in self.results(claim) if result.get("adminAccess")]
        types = (published.get(result["device"], {}).get("attributes", {}).get("type") for result in watched)
        if any(kind is not None and kind["string"] != "gpu" for kind in types):
            return "on a non-full-GPU device"
        requests = {result["request"] for result in watched}
        configs: list[Object] = claim["status"]["allocation"]["devices"].get("config", [])
        named = (
            config.get("requests") or requests
            for config in configs
            if config.get("opaque", {}).get("driver") == self.driver
        )
        return "with a device configuration" if any(requests & set(one) for one in named) else ""

    def _judge_config(self, claim: Object, published: dict[str, Object]) -> None:
        """Of several configurations for a device the last counts; one for a main request counts for none."""
        gates = feature_gates(self.environment, self.version)
        told: list[Object] = claim["status"]["allocation"]["devices"].get("config", [])
        # The class's come first, as in GetOpaqueDeviceConfigs of v0.5.0's device_state.go.
        ours = [
            config
            for config in sorted(told, key=lambda config: config.get("source") != "FromClass")
            if config.get("opaque", {}).get("driver") == self.driver
        ]
        try:
            kinds = [decode(config["opaque"]["parameters"], FIELDS) for config in ours]
        except PrepareFailed as error:
            raise PrepareFailed(f"error getting opaque device configs: {error}") from error
        applied: dict[int, list[str]] = {}
        for result in self.results(claim):
            chosen = _chosen(ours, kinds, result, published)
            if chosen is not None:
                applied.setdefault(chosen, []).append(result["request"])
        for index, requests in applied.items():
            judge(ours[index]["opaque"]["parameters"], gates, requests, claim["metadata"]["uid"])


def _chosen(
    configs: list[Object], kinds: list[str], result: Object, published: dict[str, Object]
) -> int | None:
    """Which configuration is for an allocated device; None for the driver's own default.

    Raises:
        PrepareFailed: the one that names its request is for another type of devices.
    """
    device, request = result["device"], result["request"]
    actual = published[device]["attributes"]["type"]["string"]
    for index in reversed(range(len(configs))):
        named, fits = configs[index].get("requests", []), DEVICE_TYPES[kinds[index]] == actual
        if request in named and not fits:
            raise PrepareFailed(
                f'cannot apply {kinds[index]} to device "{device}" of type "{actual}" (request: {request})'
            )
        if request in named or (not named and fits):
            return index
    return None
