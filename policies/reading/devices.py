"""The devices that NVIDIA's driver may publish, by the catalogue: whole GPUs and every partition of each.

Selectors are judged on these, by evaluation; how they are written does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from fleet import catalogue
from fleet.drivers.cuda import cuda_version_of
from fleet.drivers.nvidia_devices import DRIVER, GpuOnHost, nvidia_devices
from fleet.proof.cel import UNKNOWN, CelDevice, CelInvalid, CelUnsupported, environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.catalogue.model import GpuModel
    from fleet.drivers.published import PublishedDevice
    from fleet.proof.cel.program import Program

MINOR: Final = "1.36"
"""The minor whose CEL judges; what older ones lack makes an expression invalid there, not wider."""
_DRIVER_VERSION: Final = "580.126.09"
_HOST: Final = ("uuid", "parentUUID", "driverVersion", "cudaDriverVersion")
"""What differs from host to host: no verdict may rest on a value of it."""

Verdict = Literal["yes", "no", "maybe", "error"]


@dataclass(frozen=True, kw_only=True)
class KnownDevice:
    """A device of the catalogue.

    Attributes:
        title: for messages: `NVIDIA A100-SXM4-40GB`, or `1g.5gb of NVIDIA A100-SXM4-40GB`.
        profile: the MIG profile, empty for a whole GPU.
        device: the resource.k8s.io/v1 form, with UNKNOWN for values that differ from host to host.
    """

    title: str
    model: str
    profile: str
    device: dict[str, object]

    def as_type(self, device_type: str) -> CelDevice:
        """The same device if it said that it is of another type."""
        attributes = {**self._attributes, "type": {"string": device_type}}
        return CelDevice.of({**self.device, "attributes": attributes}, DRIVER)

    @property
    def cel(self) -> CelDevice:
        """The device as a selector sees it."""
        return _cel(self.model, self.profile)

    @property
    def _attributes(self) -> dict[str, object]:
        found = self.device["attributes"]
        return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


@cache
def whole_gpus() -> tuple[KnownDevice, ...]:
    """Every GPU model, unpartitioned."""
    return tuple(
        _known(model, device, "")
        for model in catalogue.load().gpus.values()
        for device in _published(model, None)
    )


@cache
def partitions() -> tuple[KnownDevice, ...]:
    """Every MIG partition of every GPU model."""
    return tuple(
        _known(model, _published(model, ((profile.name, 1),))[0], profile.name)
        for model in catalogue.load().gpus.values()
        if model.mig is not None
        for profile in model.mig.profiles
    )


@cache
def _cel(model: str, profile: str) -> CelDevice:
    known = partitions() if profile else whole_gpus()
    found = next(device for device in known if (device.model, device.profile) == (model, profile))
    return CelDevice.of(found.device, DRIVER)


def _published(model: GpuModel, mig: tuple[tuple[str, int], ...] | None) -> list[PublishedDevice]:
    driver = catalogue.load().drivers["nvidia"]
    gpu = GpuOnHost(
        model=model, minor=0, uuid="GPU-0", pci_bus_id=None, pcie_root=None, numa_node=None, mig=mig
    )
    return nvidia_devices(
        [gpu],
        driver_version=_DRIVER_VERSION,
        cuda_version=cuda_version_of(_DRIVER_VERSION),
        chart=driver.versions[-1],
    )


def _known(model: GpuModel, published: PublishedDevice, profile: str) -> KnownDevice:
    device = published.to_object()
    unsure = {*_HOST, *published.assumed}
    attributes = {name: UNKNOWN if name in unsure else value for name, value in device["attributes"].items()}
    capacity = {
        name: UNKNOWN if name in unsure else value for name, value in device.get("capacity", {}).items()
    }
    name = model.product_name or model.name
    return KnownDevice(
        title=f"{profile} of {name}" if profile else name,
        model=model.name,
        profile=profile,
        device={**device, "attributes": attributes, "capacity": capacity},
    )


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Selectors that are all true for the devices they select."""

    programs: tuple[Program, ...]

    @classmethod
    def of(cls, expressions: Sequence[str]) -> Selection | None:
        """Compile expressions; None where one is no CEL or cannot be judged here."""
        compile_one = environment(MINOR).compile
        try:
            return cls(programs=tuple(compile_one(expression) for expression in expressions))
        except (CelInvalid, CelUnsupported):
            return None

    def selects(self, device: CelDevice) -> Verdict:
        """Whether a device is selected; `error` if evaluation fails on it, as in the scheduler."""
        answers = [program.evaluate(device).outcome for program in self.programs]
        for outcome in answers:  # in order: what follows a false or an error is never evaluated
            if outcome == "false":
                return "no"
            if outcome == "error":
                return "error"
        return "maybe" if "unknown" in answers else "yes"
