"""What a rehearsal's Azure has beyond the catalogue, and what it lacks, so that refusals can be provoked."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from dra_fleet import drivers
from dra_fleet.rehearsal.clouds.limits import AccountLimits
from dra_fleet.rehearsal.world.node import HardwareModel

SIZE = re.compile(
    r"Standard_(?P<series>[A-Z]+)(?P<cpus>\d+)(?P<traits>[a-z]*)(?P<middle>(?:_[A-Z][A-Za-z0-9]*)*)"
    r"(?:_(?P<version>v\d+))?"
)
"""https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions"""


class GivenSize(HardwareModel):
    """A VM size that the catalogue does not hold: a GPU model of the catalogue, vCPUs, memory in GiB."""

    gpu: str
    gpus: Annotated[int, Field(ge=1, le=32)]
    cpus: Annotated[int, Field(ge=1)]
    memory: Annotated[int, Field(ge=1)]

    @field_validator("gpu")
    @classmethod
    def _known(cls, gpu: str) -> str:
        models = drivers.accelerators()
        if gpu not in models:
            raise ValueError(
                f"GPU model {gpu!r} is not in the catalogue; allowed: {', '.join(sorted(models))}"
            )
        return gpu


class AksLimits(AccountLimits):
    """Quotas and shortages of the simulated subscription, and its VM sizes beyond the catalogue's.

    `quotas` are vCPUs by family, such as standardNVADSA10v5Family; a family that is not named has no limit.
    `stockOuts` are VM sizes of which the region has no machine left. `sizes` are further VM sizes by name.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()
    sizes: dict[str, GivenSize] = Field(default_factory=dict)

    def quota(self, family: str) -> int | None:
        """The quota of a family in vCPUs, None without limit."""
        return next((cpus for name, cpus in self.quotas.items() if name.lower() == family.lower()), None)

    def size(self, name: str) -> tuple[str, GivenSize] | None:
        """A further size with its name as it is written there; None where there is none."""
        return next(
            ((known, size) for known, size in self.sizes.items() if known.lower() == name.lower()), None
        )

    def is_out_of_stock(self, size: str) -> bool:
        """Whether no machine of this size is left."""
        return size.lower() in {name.lower() for name in self.stock_outs}
