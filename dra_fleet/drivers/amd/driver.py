"""AMD's driver for Instinct and Radeon GPUs: chart values, and the whole GPUs that it publishes.

Source: https://github.com/ROCm/k8s-gpu-dra-driver, `helm-charts-k8s`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from typing_extensions import override

from dra_fleet.core.facts import Entry, Fact, read
from dra_fleet.drivers.base import Accelerators, Driver
from dra_fleet.drivers.common.placement import nothing_served
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.value_checks import default_namespace
from dra_fleet.drivers.resources import DriverResources, OtherPlugin
from dra_fleet.model.nodes import Published
from dra_fleet.model.specs import PublishedDevice, VersionAttribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import Refusal
    from dra_fleet.core.transitions import Transition
    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan


WHOLE: Final = "amdgpu"

_VENDOR: Final = "amd"
"""The key of machines' rows."""

_FIRST_RENDERER: Final = 128
"""The number of the first render node in Linux: https://docs.kernel.org/gpu/drm-uapi.html#render-nodes."""


class AmdGpu(Entry):
    """A model of GPU, whole and on bare metal."""

    model: str
    product_name: str
    memory: str
    compute_units: int
    simd_units: int


class AmdGpus(Fact):
    """The GPUs of a machine. `is_virtual`: virtual functions, which report their own names and memory."""

    model: str
    gpus: int
    is_virtual: bool = False


def gpus_of(machine: Machine) -> AmdGpus | None:
    """Return the GPUs of a machine, or None."""
    return machine.of_vendor(_VENDOR, AmdGpus)


def amd_devices(found: AmdGpus) -> list[PublishedDevice]:
    """Return the whole GPUs of a node; the numbers in their names, and NUMA nodes, are the host's own."""
    model = models()[found.model]
    return [
        PublishedDevice(
            name=f"gpu-{index}-{_FIRST_RENDERER + index}",
            attributes={"type": WHOLE, "productName": model.product_name, "numaNode": 0},
            capacity={
                "memory": model.memory,
                "computeUnits": str(model.compute_units),
                "simdUnits": str(model.simd_units),
            },
        )
        for index in range(found.gpus)
    ]


_PER_HOST: Final = frozenset({"numaNode"})

_ASSUMED: Final = {"string": "", "version": VersionAttribute("0.0.0")}
"""Values in place of those that the host decides, by the attribute's type."""

_VIRTUAL: Final = frozenset({"productName", "memory", "computeUnits", "simdUnits"})
"""Attributes of virtual functions whose values are not public."""


class Amd(Driver):
    """AMD's driver."""

    name = "amd"
    publishers = {"gpu.amd.com": "gpu-kubeletplugin"}
    intents = {"product": "productName", "memory": "memory"}
    plugin_section = "kubeletPlugin"
    resources = DriverResources(
        known_by="machines",
        program=re.compile(r"(?<![\w-])gpu-kubeletplugin(?![\w-])"),
        other_plugins=(
            OtherPlugin(
                title="ROCm",
                charts=frozenset({"amd-gpu"}),
                programs=re.compile(
                    r"(^|/)(rocm|amd)[\w./-]*/(k8s-)?(amdgpu-)?device-plugin(@|:|$)|amdgpu-dp"
                ),
                source="https://github.com/ROCm/k8s-device-plugin/blob/master/docs/index.md",
                date="2026-11-25",
                # https://github.com/ROCm/k8s-device-plugin/blob/master/docs/user-guide/configuration.md
                # Network cards (amd.com/nic, amd.com/vnic) have another plugin.
                limits=re.compile(r"amd\.com/(gpu|[a-z]px_nps\d+)"),
            ),
        ),
    )
    extended_resource = "amd.com/gpu"

    @override
    def transitions(self) -> tuple[Transition, ...]:
        from dra_fleet.core.transitions import read_transitions  # noqa: PLC0415 - only upgrades read them

        return read_transitions(self.package)

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        return default_namespace(release, final)

    @override
    def conflicts(self, release: Release) -> Sequence[Refusal]:
        return nothing_served(self, release, "AMD GPUs")

    @override
    def priority_class_keys(self, values: ChartValues) -> Sequence[str]:
        return ("kubeletPlugin.priorityClassName",)

    @override
    def serves(self, machine: Machine) -> bool:
        return gpus_of(machine) is not None

    @override
    def accelerators_of(self, machine: Machine) -> Accelerators | None:
        found = gpus_of(machine)
        return None if found is None else Accelerators(model=found.model, count=found.gpus)

    @override
    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        publisher, found = self.facts.driver, gpus_of(pool.machine)
        if found is None:
            return Published(known_drivers=frozenset({publisher}))
        hosts = {item.name: _ASSUMED[item.type] for item in self.facts.attributes if WHOLE in item.sometimes}
        unknown = _PER_HOST | {*hosts} | (_VIRTUAL if found.is_virtual else frozenset[str]())
        devices = (
            known_device(publisher, replace(device, attributes={**hosts, **device.attributes}), unknown)
            for device in amd_devices(found)
        )
        return Published(devices=tuple(devices), known_drivers=frozenset({publisher}))


DRIVER: Final = Amd()


@cache
def models() -> Mapping[str, AmdGpu]:
    """Return the models by name."""
    entries = read("dra_fleet.drivers.amd", "gpus.yaml")["gpus"]
    found = [AmdGpu.model_validate(entry) for entry in entries]
    return {gpu.model: gpu for gpu in found}
