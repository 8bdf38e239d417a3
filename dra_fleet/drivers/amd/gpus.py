"""AMD's GPUs, those of a machine, and what the driver publishes of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from dra_fleet.core.facts import Entry, Fact, read
from dra_fleet.model.published import PublishedDevice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.hardware import Machine

WHOLE: Final = "amdgpu"
_VENDOR: Final = "amd"
"""The key of machines' rows."""
_FIRST_RENDERER: Final = 128
"""Where Linux begins to count render nodes: https://docs.kernel.org/gpu/drm-uapi.html#render-nodes."""


class AmdGpu(Entry):
    """A model of GPU, whole and on bare metal."""

    model: str
    product_name: str
    memory: str
    compute_units: int
    simd_units: int


class AmdGpus(Fact):
    """The GPUs of a machine. `is_virtual`: virtual functions, which report names and memory of their own."""

    model: str
    gpus: int
    is_virtual: bool = False


def gpus_of(machine: Machine) -> AmdGpus | None:
    """The GPUs of a machine; None where it has none."""
    return machine.of_vendor(_VENDOR, AmdGpus)


@cache
def models() -> Mapping[str, AmdGpu]:
    """The models by name."""
    entries = read("dra_fleet.drivers.amd", "gpus.yaml")["gpus"]
    found = [AmdGpu.model_validate(entry) for entry in entries]
    return {gpu.model: gpu for gpu in found}


def amd_devices(found: AmdGpus) -> list[PublishedDevice]:
    """The whole GPUs of a node; the numbers in their names, and NUMA nodes, are the host's own."""
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
