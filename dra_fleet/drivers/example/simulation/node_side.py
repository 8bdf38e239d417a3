"""dra-example-driver on simulated machines: its node side, and a kubelet plugin without hardware."""

from __future__ import annotations

import re
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.drivers.example.driver import PROFILES, Options, example_counters, example_devices
from dra_fleet.rehearsal.agent.driver_pod import Start, is_ready
from dra_fleet.rehearsal.agent.view import POD, RESOURCE_API
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.decoding import INT, UINT64, Go, decode, section
from dra_fleet.rehearsal.drivers.node_side import NodeSide, OwnProgram
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed, StartFailed
from dra_fleet.rehearsal.drivers.programs import Programs
from dra_fleet.rehearsal.tools.recipes import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.simulator.node import Host


# Source: https://github.com/kubernetes-sigs/dra-example-driver, `cmd/dra-example-kubeletplugin` (v0.4.0).

# The example driver's opaque configuration, checked as its kubelet plugin does at prepare time.
#
# Source: https://github.com/kubernetes-sigs/dra-example-driver, `cmd/dra-example-kubeletplugin/state.go` and
# `api/example.com/resource` (v0.4.0).

_SHARING = Go(
    "v1alpha1.GpuSharing",
    dict,
    {
        "strategy": Go("v1alpha1.GpuSharingStrategy", str),
        "timeSlicingConfig": Go(
            "v1alpha1.TimeSlicingConfig", dict, {"interval": Go("v1alpha1.TimeSliceInterval", str)}
        ),
        "spacePartitioningConfig": Go("v1alpha1.SpacePartitioningConfig", dict, {"partitionCount": INT}),
    },
)

_KINDS: Mapping[str, Mapping[str, Mapping[str, Go]]] = {
    "gpu": {"GpuConfig": {"sharing": _SHARING}},
    "net": {
        "NetConfig": {
            "bwBurst": Go(
                "v1alpha1.BandwidthBurstEntry", dict, {"ingressBurst": UINT64, "egressBurst": UINT64}
            )
        }
    },
    "cpu": {},
}

_STRATEGIES = ("TimeSlicing", "SpacePartitioning")

_INTERVALS = ("Default", "Short", "Medium", "Long")

_MOST_BURST = 8 * (2**32 - 1)


def check(configs: Sequence[Object], profile: str, requests: Callable[[], Sequence[tuple[str, str]]]) -> None:
    """Check what of a claim's configuration is applied to its devices.

    Args:
        configs: those for this driver.
        profile: the driver's.
        requests: the request and device of each result, once they are asked for.

    Raises:
        PrepareFailed: with the driver's words.
    """
    own = sorted(configs, key=lambda config: config.get("source") != "FromClass")
    try:
        for config in own:
            version = f"{profile}.resource.example.com/v1alpha1"
            decode(config["opaque"]["parameters"], version, _KINDS[profile])
    except PrepareFailed as error:
        raise PrepareFailed(f"error getting opaque device configs: {error}") from error
    for request, device in requests():
        chosen = next(
            (item for item in reversed(own) if request in (item.get("requests") or [request])), None
        )
        if chosen is None:
            continue
        problem = _PROBLEMS[profile](chosen["opaque"]["parameters"], device)
        if problem:
            raise PrepareFailed(f"error applying config: {problem}")


def _gpu_problem(parameters: Object, device: str) -> str:
    sharing = section(parameters, "sharing")
    strategy = sharing.get("strategy", _STRATEGIES[0] if parameters.get("sharing") is None else "")
    slicing, parts = sharing.get("timeSlicingConfig"), sharing.get("spacePartitioningConfig")
    interval = section(sharing, "timeSlicingConfig").get("interval") or ""
    count = section(sharing, "spacePartitioningConfig").get("partitionCount") or 0
    invalid = unfit = ""
    if strategy not in _STRATEGIES:
        invalid = f"unknown GPU sharing strategy: {strategy}"
    elif strategy == _STRATEGIES[0]:
        invalid = (
            f"unknown time-slice interval: {interval}"
            if slicing is not None and interval not in _INTERVALS
            else ""
        )
        unfit = "time slicing" if parts is not None else ""
    else:
        invalid = f"invalid partition count: {count}" if count < 0 else ""
        unfit = "space partitioning" if slicing is not None else ""
    if invalid:
        return f"error validating GPU config: {invalid}"
    other = "SpacePartitioningConfig" if strategy == _STRATEGIES[0] else "TimeSlicingConfig"
    why = f"cannot use {other} with the '{strategy}' strategy"
    return f"unable to get {unfit} config for device {device}: {why}" if unfit else ""


def _net_problem(parameters: Object, device: str) -> str:
    del device
    for name in ("ingressBurst", "egressBurst"):
        if (section(parameters, "bwBurst").get(name) or 0) >= _MOST_BURST:
            return f"error validating Net config: invalid {name}: burst cannot be more than 4GB"
    return ""


_PROBLEMS: Mapping[str, Callable[[Object, str], str]] = {"gpu": _gpu_problem, "net": _net_problem}

MODULES: Final = Path(__file__).resolve().parent / "modules"
"""The Go modules that pin the driver, one directory per version of its chart."""

DRIVER: Final = "sigs.k8s.io/dra-example-driver"


# dra-example-driver's controller, which says of allocated devices that they are ready to be bound.
#
# Source: https://github.com/kubernetes-sigs/dra-example-driver/tree/v0.4.0/cmd/dra-example-controller.

COMMAND: Final = "dra-example-controller"

PLUGIN: Final = "BindingConditions"

CLAIM: Final = "ResourceClaim"

RETRY_SECONDS: Final = 1.0

_REFUSED: Final = (403, 409)


class ExampleController(Programs):
    """Sets the conditions that devices of its driver are bound by."""

    @override
    async def keep(self, pod: Object) -> None:
        if not is_ready(pod) or PLUGIN not in _flags(pod, "enable-plugin"):
            return
        self._watch(pod, [(RESOURCE_API, CLAIM, None)])
        driver = next(iter(_flags(pod, "driver-name")), "gpu.example.com")
        try:
            api = await self._identities.pod(pod)
            for claim in (await api.list(RESOURCE_API, CLAIM))["items"]:
                ready = made_ready(claim, driver)
                if ready != claim:
                    whole = {"apiVersion": RESOURCE_API, "kind": CLAIM, **ready}
                    await api.replace(whole, subresource="status")
        except ApiError as error:
            if error.code not in _REFUSED:
                raise
            await self._events.record(pod["spec"]["nodeName"], pod, "Failed", error.message)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)


def made_ready(claim: Object, driver: str) -> Object:
    """Return a claim with every binding condition of the driver's devices true."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = deepcopy(claim)
    allocated: Object = ready.get("status", {}).get("allocation") or {}
    for result in allocated.get("devices", {}).get("results", []):
        if result["driver"] != driver:
            continue
        for kind in result.get("bindingConditions", []):
            conditions = _conditions(ready["status"], result)
            true = {"type": kind, "status": "True", "reason": "Ready", "message": "Device is ready"}
            if all((item["type"], item["status"]) != (kind, "True") for item in conditions):
                conditions[:] = [item for item in conditions if item["type"] != kind]
                conditions.append({**true, "lastTransitionTime": now})
    return ready


def _flags(pod: Object, name: str) -> list[str]:
    """Return the values of a flag of the controller; none for any other pod."""
    container: Object = pod["spec"]["containers"][0]
    if COMMAND not in container.get("command", []):
        return []
    given = (argument.partition("=") for argument in container.get("args", []))
    return [value for flag, _, value in given if flag == f"--{name}"]


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
        reported: list[Object] = claim["status"]["allocation"]["devices"].get("config", [])
        own = [config for config in reported if config.get("opaque", {}).get("driver") == self.driver]
        try:
            check(own, self._profile, lambda: self._requests(claim, published))
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


def recipes() -> Mapping[str, Recipe]:
    """Return the build of the driver for each pinned chart version."""
    return {
        folder.name: Recipe(
            name="dra-example-kubeletplugin",
            title="the example driver",
            module=folder,
            package=f"{DRIVER}/cmd/dra-example-kubeletplugin",
            requirement=DRIVER,
            stamp="",
        )
        for folder in sorted(MODULES.iterdir())
    }


def _conditions(status: Object, result: Object) -> list[Object]:
    """Return the list of conditions of an allocated device."""
    devices: list[Object] = status.setdefault("devices", [])
    named = {key: result[key] for key in ("driver", "pool", "device")}
    kept = next((item for item in devices if named.items() <= item.items()), None)
    if kept is None:
        devices.append(kept := named)
    return kept.setdefault("conditions", [])


def start_problem(pod: Object, host: Host) -> Start | None:
    """Return why the controller exits: an unknown plugin. None for any other pod."""
    del host
    unknown = next((name for name in _flags(pod, "enable-plugin") if name != PLUGIN), None)
    if unknown is None:
        return None
    reported = f'unknown plugin "{unknown}" (available: {PLUGIN})'
    failed = f'invalid value "{unknown}" for flag -enable-plugin: {reported}'
    return Start(failed={pod["spec"]["containers"][0]["name"]: failed})


class ExampleProgram(OwnProgram):
    """The example driver's plugin, built from its module."""

    plugin = ExamplePlugin

    @override
    def recipes(self) -> Mapping[str, Recipe]:
        return recipes()


class ExampleNodes(NodeSide):
    """The example driver on simulated machines."""

    plugins = (ExamplePlugin,)
    programs = (ExampleController,)
    own = ExampleProgram()

    @override
    def start_problem(self, pod: Object, host: Host) -> Start | None:
        return start_problem(pod, host)


NODE_SIDE: Final = ExampleNodes()
