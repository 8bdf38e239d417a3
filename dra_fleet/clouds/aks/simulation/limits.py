"""What a rehearsal's Azure lacks, so that refusals can be provoked."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, model_validator

from dra_fleet.rehearsal.clouds.limits import AccountLimits

SIZE = re.compile(
    r"Standard_(?P<series>[A-Z]+)(?P<cpus>\d+)(?P<traits>[a-z]*)(?P<middle>(?:_[A-Z][A-Za-z0-9]*)*)"
    r"(?:_(?P<version>v\d+))?"
)
"""https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions"""


class AksLimits(AccountLimits):
    """Quotas and shortages of the simulated subscription.

    `quotas` are vCPUs by family, such as standardNVADSA10v5Family; a family that is not named has no limit.
    `stockOuts` are VM sizes of which the region has no machine left.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()

    def quota(self, family: str) -> int | None:
        """The quota of a family in vCPUs, None without limit."""
        return next((cpus for name, cpus in self.quotas.items() if name.lower() == family.lower()), None)

    @model_validator(mode="before")
    @classmethod
    def _machines_are_in_the_catalogue(cls, told: dict[str, object]) -> dict[str, object]:
        if "sizes" in told:
            raise ValueError(
                "VM sizes of one's own are told in catalogue.yaml: clouds: {aks: {machines: […]}}"
            )
        return told

    def is_out_of_stock(self, size: str) -> bool:
        """Whether no machine of this size is left."""
        return size.lower() in {name.lower() for name in self.stock_outs}
