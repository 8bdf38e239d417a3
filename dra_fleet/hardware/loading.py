"""Reads the catalogue's data files, each when one of its facts is first asked for."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from dra_fleet.facts.loading import by_name, read
from dra_fleet.hardware.models import CudaFacts, GpuModel, GpuOperatorFacts

if TYPE_CHECKING:
    from collections.abc import Mapping


class Catalogue:
    """All facts of the hardware."""

    @cached_property
    def gpus(self) -> Mapping[str, GpuModel]:
        """GPU models by name."""
        return by_name(
            GpuModel.model_validate(entry) for entry in read("dra_fleet.drivers.nvidia", "gpus.yaml")["gpus"]
        )

    @cached_property
    def cuda(self) -> CudaFacts:
        """CUDA's versions."""
        return CudaFacts.model_validate(read("dra_fleet.drivers.nvidia", "cuda.yaml"))

    @cached_property
    def gpu_operator(self) -> GpuOperatorFacts:
        """The NVIDIA GPU Operator."""
        return GpuOperatorFacts.model_validate(read("dra_fleet.drivers.nvidia", "gpu_operator.yaml"))


@cache
def load() -> Catalogue:
    """All facts, the same object for the whole process."""
    return Catalogue()
