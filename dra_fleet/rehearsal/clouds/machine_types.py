"""What a machine type of a simulated cloud has, how its name is read, and which are like a wrong one."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from dra_fleet.model.hardware import Machine

_CPUS: Final = {"medium": 1, "large": 2, "xlarge": 4}


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One machine type. `machine` is its name in the catalogue, None for a general one; memory in GiB."""

    name: str
    cpus: int
    memory_gib: int
    arch: Literal["amd64", "arm64"] = "amd64"
    machine: str | None = None
    gpu: str | None = None
    gpus: int = 0

    @classmethod
    def of(cls, machine: Machine) -> Self:
        """A machine of the catalogue; one of unknown memory has what general ones have."""
        return cls(
            name=machine.name,
            cpus=machine.cpus,
            memory_gib=machine.memory_gib or 4 * machine.cpus,
            arch=machine.arch or "amd64",
            machine=machine.name,
            gpu=machine.gpu,
            gpus=machine.gpus,
        )


def near(name: str, known: Iterable[str]) -> str:
    """The known names most like this one, in a row."""
    return ", ".join(difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.3)) or "none"


def cpus_of(size: str) -> int | None:
    """The processors of a size such as "large" or "2xlarge"; None where it is no size."""
    many = re.fullmatch(r"(\d+)xlarge", size)
    return 4 * int(many[1]) if many else _CPUS.get(size)
