"""The example driver of the Kubernetes project: devices without hardware, for clusters that have none.

It publishes whole GPUs, partitions that share counters, and parts of either, on every node where it runs.
Source: https://github.com/kubernetes-sigs/dra-example-driver, deployments/helm and `internal/profiles/gpu`
(2026-07, v0.4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from typing_extensions import override

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Driver
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.value_checks import default_namespace
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.example.devices import PROFILES, Options, example_counters, example_devices
from dra_fleet.kubernetes.minors import PARTITIONS, is_on
from dra_fleet.kubernetes.scheduling.taints import toleration_list
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import NodeDevice, Object
    from dra_fleet.model.plan import ChartValues, PoolPlan

CONTROLLER_PLUGINS: Final = ("BindingConditions",)
"""https://github.com/kubernetes-sigs/dra-example-driver/blob/v0.4.0/cmd/dra-example-controller/main.go#L47."""
MOST_WITH_COUNTERS = 64
"""Devices of one slice that may consume counters:
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/."""
MOST_DEVICES = 128
"""Devices of one slice."""
_TOO_MANY = (
    "the example driver puts all {count} devices{which} into one slice, which the API server "
    "refuses beyond {most}; lower kubeletPlugin.numDevices or kubeletPlugin.gpuPartitions"
)
_UNUSUAL = (
    ("deviceProfile", "gpu"),
    ("driverName", "gpu.example.com"),
    ("kubeletPlugin.bindingConditions", False),
)
_PER_HOST = frozenset({"uuid"})


class Example(Driver):
    """The example driver."""

    name = "example"
    publishers = {"gpu.example.com": "dra-example-kubeletplugin"}
    intents = {"product": "model", "memory": "memory"}
    plugin_section = "kubeletPlugin"
    # A loop over the index: https://github.com/kubernetes-sigs/dra-example-driver,
    # `internal/profiles/gpu/gpu.go` (v0.4.0, 2026-11-22).
    order = "by index"
    order_with_counters = "by index"

    @override
    def values(self, release: Release) -> ChartValues:
        """Use the GPU profile and tolerate the pools' taints."""
        chosen: dict[str, Any] = {"deviceProfile": "gpu"}
        tolerations = toleration_list(taint for pool in release.pools for taint in pool.taints)
        if tolerations:
            chosen["kubeletPlugin"] = {"tolerations": tolerations}
        return chosen

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        found: list[Refusal] = []
        profile = value_at(final, "deviceProfile", default="gpu")
        if profile not in PROFILES:
            found.append(
                Refusal(
                    path="deviceProfile",
                    what="is refused by the chart",
                    got=str(profile),
                    allowed=", ".join(PROFILES),
                )
            )
        plugins = cast("Sequence[object]", value_at(final, "controller.plugins", default=None) or ())
        found += [
            Refusal(
                path=f"controller.plugins[{index}]",
                what="is no plugin of the controller, which exits",
                got=str(name),
                allowed=", ".join(CONTROLLER_PLUGINS),
            )
            for index, name in enumerate(plugins)
            if name not in CONTROLLER_PLUGINS
        ]
        return [*found, *default_namespace(release, final)]

    @override
    def priority_class_keys(self, values: ChartValues) -> Sequence[str]:
        return ("kubeletPlugin.priorityClassName",)

    @override
    def serves(self, machine: Machine) -> bool:
        return True

    @override
    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        name = self.facts.driver
        devices, reason, counters = _devices(installed, minor)
        return Published(
            devices=tuple(devices),
            unpredictable={name: reason} if reason else {},
            counters={name: counters} if counters else {},
            told=frozenset({name}),
        )


def _devices(driver: Installed, minor: str) -> tuple[list[NodeDevice], str, tuple[Object, ...]]:
    """The devices of a node, why they cannot be told, and the counters that they share."""
    values = driver.values
    changed = [key for key, usual in _UNUSUAL if value_at(values, key) not in (None, "", usual)]
    if changed:
        return (
            [],
            f"value {changed[0]} changes what the {driver.facts.name} driver publishes; {GIVE_SLICES}",
            (),
        )
    options = Options(
        driver=driver.facts.driver,
        count=cast("int", value_at(values, "kubeletPlugin.numDevices", default=8)),
        partitions=cast("int", value_at(values, "kubeletPlugin.gpuPartitions", default=0)),
        is_shared=cast("bool", value_at(values, "gpuAllowMultipleAllocations", default=False)),
    )
    count, parts = options.count, options.partitions
    if count > MOST_DEVICES:
        return [], _TOO_MANY.format(count=count, which="", most=MOST_DEVICES), ()
    if parts > 0 and count * (parts + 1) > MOST_WITH_COUNTERS:
        which, devices_made = " that share counters", count * (parts + 1)
        return [], _TOO_MANY.format(count=devices_made, which=which, most=MOST_WITH_COUNTERS), ()
    made = example_devices("stand-in", options)
    devices = [known_device(options.driver, device, _PER_HOST) for device in made]
    return devices, "", tuple(example_counters(options)) if is_on(PARTITIONS, minor) else ()


DRIVER: Final = Example()
