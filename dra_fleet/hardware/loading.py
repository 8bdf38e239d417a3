"""Reads the catalogue's data files, each when one of its facts is first asked for."""

from __future__ import annotations

from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar, cast

import yaml12

from dra_fleet.hardware.models import CudaFacts, GpuModel, GpuOperatorFacts, Machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.clouds.aks.facts import AksFacts
    from dra_fleet.clouds.eks.facts import EksFacts
    from dra_fleet.clouds.gke.facts import GkeFacts

_MACHINES = {
    "existing": "hardware",
    "aks": "clouds.aks",
    "gke": "clouds.gke",
    "eks": "clouds.eks",
}
"""Cloud -> the package with its machine types; those of no cloud are `existing`."""

NamedT = TypeVar("NamedT", GpuModel, Machine)


class Catalogue:
    """All facts. Those of one cloud are models of their own, which a stack of another cloud never builds."""

    @cached_property
    def gpus(self) -> Mapping[str, GpuModel]:
        """GPU models by name."""
        return _by_name(
            GpuModel.model_validate(entry) for entry in _read("drivers.nvidia", "gpus.yaml")["gpus"]
        )

    @cached_property
    def machines(self) -> Mapping[str, Machine]:
        """Machine types of all clouds by name."""
        return _by_name(machine for cloud in _MACHINES for machine in self.machines_of(cloud).values())

    @staticmethod
    @cache
    def machines_of(cloud: str) -> Mapping[str, Machine]:
        """Machine types of one cloud by name."""
        return _by_name(
            Machine.model_validate(entry) for entry in _read(_MACHINES[cloud], "machines.yaml")["machines"]
        )

    @cached_property
    def cuda(self) -> CudaFacts:
        """CUDA's versions."""
        return CudaFacts.model_validate(_read("drivers.nvidia", "cuda.yaml"))

    @cached_property
    def gpu_operator(self) -> GpuOperatorFacts:
        """The NVIDIA GPU Operator."""
        return GpuOperatorFacts.model_validate(_read("drivers.nvidia", "gpu_operator.yaml"))

    @cached_property
    def aks(self) -> AksFacts:
        """Azure Kubernetes Service."""
        from dra_fleet.clouds.aks.facts import AksFacts  # noqa: PLC0415 - one cloud's

        return AksFacts.model_validate(_read("clouds.aks", "aks.yaml"))

    @cached_property
    def eks(self) -> EksFacts:
        """Elastic Kubernetes Service."""
        from dra_fleet.clouds.eks.facts import EksFacts  # noqa: PLC0415 - one cloud's

        return EksFacts.model_validate(_read("clouds.eks", "eks.yaml"))

    @cached_property
    def gke(self) -> GkeFacts:
        """Google Kubernetes Engine."""
        from dra_fleet.clouds.gke.facts import GkeFacts  # noqa: PLC0415 - one cloud's

        return GkeFacts.model_validate(_read("clouds.gke", "gke.yaml"))


@cache
def load() -> Catalogue:
    """All facts, the same object for the whole process."""
    return Catalogue()


def _read(package: str, name: str) -> dict[str, Any]:
    text = resources.files(f"dra_fleet.{package}").joinpath(name).read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml12.parse_yaml(text))


def _by_name(entries: Iterable[NamedT]) -> dict[str, NamedT]:
    named: dict[str, NamedT] = {}
    for entry in entries:
        if entry.name in named:
            msg = f"the catalogue holds {entry.name} twice"
            raise ValueError(msg)
        named[entry.name] = entry
    return named
