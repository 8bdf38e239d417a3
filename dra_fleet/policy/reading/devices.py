"""The devices that NVIDIA's driver may publish, by the catalogue: whole GPUs and every partition of each.

Selectors are judged on these, by evaluation; how they are written does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from dra_fleet import hardware as catalogue
from dra_fleet.cel import UNKNOWN, CelDevice, CelInvalid, environment, judgeable_clauses
from dra_fleet.cel.clauses import split
from dra_fleet.drivers.nvidia import DRIVER as NVIDIA
from dra_fleet.drivers.nvidia.cuda import cuda_version_of
from dra_fleet.drivers.nvidia.devices import DRIVER, GpuOnHost, nvidia_devices
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.cel.program import Program
    from dra_fleet.hardware.models import GpuModel
    from dra_fleet.model.published import PublishedDevice

MINOR: Final = kubernetes_facts().newest
"""The minor whose CEL judges; what older ones lack makes an expression invalid there, not wider."""
_DRIVER_VERSION: Final = "580.126.09"
_HOST: Final = ("uuid", "parentUUID", "driverVersion", "cudaDriverVersion")
"""What differs from host to host: no verdict may rest on a value of it."""
_WHOLE: Final = "gpu"
_PARTITION: Final = "mig"

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

    @cached_property
    def as_whole(self) -> CelDevice:
        """The same device if it said that it is a whole GPU, without what only partitions say."""
        own = {name: value for name, value in self.attributes.items() if name not in _only_of_partitions()}
        return CelDevice.of({**self.device, "attributes": {**own, "type": {"string": _WHOLE}}}, DRIVER)

    @cached_property
    def cel(self) -> CelDevice:
        """The device as a selector sees it."""
        return CelDevice.of(self.device, DRIVER)

    @property
    def attributes(self) -> Mapping[str, object]:
        """Its attributes by name."""
        return cast("Mapping[str, object]", self.device["attributes"])

    @property
    def capacity(self) -> Mapping[str, object]:
        """Its capacity by name."""
        return cast("Mapping[str, object]", self.device["capacity"])


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


def _published(model: GpuModel, mig: tuple[tuple[str, int], ...] | None) -> list[PublishedDevice]:
    driver = NVIDIA.facts
    gpu = GpuOnHost(
        model=model, minor=0, uuid="GPU-0", pci_bus_id=None, pcie_root=None, numa_node=None, mig=mig
    )
    return nvidia_devices(
        [gpu],
        driver_version=_DRIVER_VERSION,
        cuda_version=cuda_version_of(_DRIVER_VERSION),
        chart=driver.versions[-1],
    )


@cache
def _only_of_partitions() -> frozenset[str]:
    """The attributes that no whole GPU has."""
    return frozenset(
        item.name for item in NVIDIA.facts.attributes if _WHOLE not in (*item.always, *item.sometimes)
    )


def _known(model: GpuModel, published: PublishedDevice, profile: str) -> KnownDevice:
    device = published.to_object()
    unsure = {*_HOST, *published.assumed}
    attributes = {name: UNKNOWN if name in unsure else value for name, value in device["attributes"].items()}
    capacity = {
        name: UNKNOWN if name in unsure else value for name, value in device.get("capacity", {}).items()
    }
    facts = NVIDIA.facts
    kind = _PARTITION if profile else _WHOLE
    for item in facts.attributes:  # what only some hosts or versions of the driver publish
        if kind in item.sometimes:
            attributes.setdefault(item.name, UNKNOWN)
    for item in facts.capacities:
        if kind in item.sometimes:
            capacity.setdefault(item.name, UNKNOWN)
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
        """Compile expressions; None where one is no valid CEL.

        Raises:
            CelUnsupported: One may be valid, but cannot be evaluated here.
        """
        compile_one = environment(MINOR).compile
        try:
            return cls(programs=tuple(compile_one(expression) for expression in expressions))
        except CelInvalid:
            return None

    def selects(self, device: CelDevice) -> Verdict:
        """Whether a device is selected; `error` if evaluation fails on it, as in the scheduler."""
        verdict: Verdict = "yes"
        for program in self.programs:  # in order: what follows a false or an error is never evaluated
            outcome = _outcome(program, device)
            if outcome in ("false", "error"):
                return "no" if outcome == "false" else "error"
            if outcome == "unknown":
                if not _possible(program.expression, device).true:
                    return "no"
                verdict = "maybe"
        return verdict


def _outcome(program: Program, device: CelDevice) -> str:
    """What an expression is; clauses that many expressions share are evaluated once per device."""
    operand = environment(MINOR).operand
    for clause in judgeable_clauses(program.expression, MINOR):
        if operand(clause).evaluate(device).outcome == "false":
            return "false"  # whatever the other clauses are, errors too
    return program.evaluate(device).outcome


class _Possible(NamedTuple):
    """What an expression may be where some of the values it reads are unknown; neither is an error."""

    true: bool
    false: bool


_split = lru_cache(maxsize=4096)(split)


def _possible(expression: str, device: CelDevice) -> _Possible:
    outcome = environment(MINOR).operand(expression).evaluate(device).outcome
    operator, operands = _split(expression)
    if outcome != "unknown" or not operator:
        return _Possible(true=outcome in ("true", "unknown"), false=outcome in ("false", "unknown"))
    judged = [_possible(operand, device) for operand in operands]
    match operator:
        case "&&":
            return _Possible(all(one.true for one in judged), any(one.false for one in judged))
        case "||":
            return _Possible(any(one.true for one in judged), all(one.false for one in judged))
        case "!":
            return _Possible(judged[0].false, judged[0].true)
        case _:
            condition, then, otherwise = judged
            return _Possible(
                (condition.true and then.true) or (condition.false and otherwise.true),
                (condition.true and then.false) or (condition.false and otherwise.false),
            )
