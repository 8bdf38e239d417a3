"""The NVIDIA driver's gpu-kubelet-plugin: publishes GPUs and MIG partitions, checks claims' configuration.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/gpu-kubelet-plugin` and
`hack/kubelet-plugin-prestart.sh` (main, 2026-08-07).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct
from typing_extensions import override

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.nvidia.devices import DRIVER, nvidia_devices
from dra_fleet.drivers.nvidia.driver import DRIVER as INSTALLED
from dra_fleet.drivers.nvidia.shares import GATE, NO_SHARES, is_option, with_parts
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.opaque import (
    API_VERSION,
    DEVICE_TYPES,
    Applied,
    chart_version,
    check,
    feature_gates,
    invalid,
    kinds_in,
    normalized,
    refuse_what_is_not_rehearsed,
)
from dra_fleet.drivers.nvidia.slices import dynamic_devices
from dra_fleet.rehearsal.drivers.decoding import decode
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed, StartFailed, environment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.specs import PublishedDevice
    from dra_fleet.rehearsal.drivers.decoding import Go
    from dra_fleet.rehearsal.simulator.node import Host


# The configuration of each device of a claim, as the NVIDIA driver's plugins report it.
#
# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0, `getConfigResultsMap` of
# `cmd/gpu-kubelet-plugin/device_state.go` and of `cmd/compute-domain-kubelet-plugin/device_state.go`.

NOT_RECOGNIZED = "runtime object is not a recognized configuration"
"""The driver's message about a kind that only its other plugin supports."""


class Assigning(Struct, frozen=True, kw_only=True):
    """The match of configurations to devices in a plugin.

    Attributes:
        driver: The plugin's name.
        kinds: The kinds it decodes, with the fields of each.
        types: The type of devices that each of its kinds is for.
        refused: Its message about a configuration for a device of another type.
        takes_others: True if a kind of the other plugin without requests is for every device; otherwise it
            is skipped.
    """

    driver: str
    kinds: Mapping[str, Mapping[str, Go]]
    types: Mapping[str, str]
    refused: Callable[[str, Object, str], str]
    takes_others: bool

    def configs(self, claim: Object) -> list[Object]:
        """Return the claim's configuration for the driver, in order of decreasing precedence."""
        reported: list[Object] = claim["status"]["allocation"]["devices"].get("config", [])
        own = (item for item in reported if item.get("opaque", {}).get("driver") == self.driver)
        return sorted(own, key=lambda config: config.get("source") != "FromClass")

    def assigned(
        self, claim: Object, results: Sequence[Object], type_of: Callable[[str], str]
    ) -> list[tuple[Object, list[Object]]]:
        """Each configuration with the results that it is for.

        One for a main request of alternatives is for none, as its name is not a result's.

        Args:
            claim: the allocated claim.
            results: those of the driver.
            type_of: a device's type.

        Raises:
            PrepareFailed: with the driver's words.
        """
        own = self.configs(claim)
        try:
            kinds = [decode(config["opaque"]["parameters"], API_VERSION, self.kinds) for config in own]
        except PrepareFailed as error:
            raise PrepareFailed(f"error getting opaque device configs: {error}") from error
        found: dict[int, list[Object]] = {}
        for result in results:
            chosen = self._chosen(own, kinds, result, type_of(result["device"]))
            if chosen is not None:
                found.setdefault(chosen, []).append(result)
        return [(own[index]["opaque"]["parameters"], results) for index, results in found.items()]

    def _chosen(
        self, configs: Sequence[Object], kinds: Sequence[str], result: Object, actual: str
    ) -> int | None:
        """Return the index of a result's configuration; None for the driver's default."""
        for index in reversed(range(len(configs))):
            named, requested = configs[index].get("requests", []), self.types.get(kinds[index])
            if result["request"] in named and requested not in (None, actual):
                raise PrepareFailed(self.refused(kinds[index], result, actual))
            fits = requested == actual or (requested is None and self.takes_others)
            if result["request"] in named or (not named and fits):
                return index
        return None


_DEFAULTS = {kind: {"kind": name} for name, kind in DEVICE_TYPES.items()}


class Preparing(Struct, frozen=True, kw_only=True):
    """The checks of claims by the driver on a node.

    Attributes:
        plugin: The plugin whose results are prepared.
        published: The plugin's devices by name, as it publishes them.
        gates: The driver's feature gates.
        kinds: The kinds of configuration that it decodes, with their fields.
        takes_others: True if a kind of the driver's other plugin is for every device.
        rejects_admin_access: True if it rejects admin access to partitions and with a configuration.
        shares: True if claims may share a device.
    """

    plugin: NodePlugin
    published: Mapping[str, Object]
    gates: Mapping[str, bool]
    kinds: Mapping[str, Mapping[str, Go]]
    takes_others: bool
    checks_admin_access: bool
    shares: bool

    def prepare(self, claim: Object, beside: Sequence[Object]) -> None:
        """Check a claim in the order in which the driver does.

        Args:
            claim: the allocated claim.
            beside: the other prepared claims of the node.

        Raises:
            PrepareFailed: with the driver's message.
        """
        watched = self._unwatchable(claim) if self.checks_admin_access else ""
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
        """Return why admin access is rejected; empty if it is granted or not requested."""
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
        for device in sorted(self._devices_of(claim) & self._devices_of(other)):
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

    def _devices_of(self, claim: Object) -> set[str]:
        results = self.plugin.results(claim)
        return {result["device"] for result in results if not result.get("adminAccess")}

    def _configuration(self, claim: Object, device: str, which: str) -> Object:
        """Return a device's configuration in a claim, with defaults."""
        try:
            assigned = self._assigned(claim)
        except PrepareFailed as error:
            raise PrepareFailed(_unresolved(claim, device, which, str(error))) from error
        for parameters, results in assigned:
            if all(result["device"] != device for result in results):
                continue
            problem = invalid(parameters, self.gates)
            reported = f"error validating config: {problem}" if problem else ""
            if parameters["kind"] not in DEVICE_TYPES:
                reported = f"{NOT_RECOGNIZED}: *v1beta1.{parameters['kind']}"
            if reported:
                raise PrepareFailed(_unresolved(claim, device, which, reported))
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
            check(parameters, self.gates, at)

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
    """Return a claim as the driver prints it."""
    meta = claim["metadata"]
    return f"{meta['namespace']}/{meta['name']}:{meta['uid']}"


def _uid(claim: Object) -> str:
    return claim["metadata"]["uid"]


OPERATOR_ROOT = "/run/nvidia/driver"

PRESTART = "kubelet-plugin-prestart.sh"

DYNAMIC: Final = "DynamicMIG"

HEALTH: Final = "NVMLDeviceHealthCheck"

OF_APPLICATIONS: Final = frozenset({13, 31, 43, 45, 68, 109})
"""XIDs of applications, after which the driver still lets pods use the GPU."""

SHARES = "CONSUMABLE_SHARES"
"""The variable of the chart's `consumableShares`."""


def prestart_problem(container: Object, host: Host) -> str | None:
    """Return the message that the init container logs until the driver exists; None once it passes."""
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
    """Return how claims share a device.

    Source:
    https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/main.go#L306-L315
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
    fault_codes: ClassVar[Mapping[str, int]] = {"ecc": 48, "link": 74, "off-bus": 79}
    """XIDs: https://docs.nvidia.com/deploy/xid-errors/index.html#topic_4"""
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

    @override
    def after_error(self, device: Object, code: int) -> Object | None:
        """Taint the device if the driver watches the health of GPUs; versions before 0.4.0 leave it out.

        https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/device_health.go
        """
        if not feature_gates(self.environment, self.version).get(HEALTH, False):
            return device
        if INSTALLED.facts.is_older(chart_version(self.version).version, "0.4.0"):
            return None if code not in OF_APPLICATIONS else device
        effect = "None" if code in OF_APPLICATIONS else "NoSchedule"
        return {**device, "taints": [{"key": f"{DRIVER}/xid", "value": str(code), "effect": effect}]}

    def _seen(self, device: PublishedDevice) -> NodeDevice:
        # What no one knows how many there are of is not a counter: a GPU would have none of it to give.
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
            checks_admin_access=facts.admin_access is not None
            and not facts.is_older(chart.version, facts.admin_access.since),
            shares=self.environment.get(SHARES, "") not in NO_SHARES,
        )
        name = name_of(claim)
        try:
            driver.prepare(claim, beside)
        except PrepareFailed as error:
            raise PrepareFailed(f"error preparing devices for claim {name}: {error}") from error
