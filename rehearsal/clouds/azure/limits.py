"""What a rehearsal's Azure subscription may have, so that refusals can be provoked."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

SIZE = re.compile(
    r"Standard_(?P<series>[A-Z]+)(?P<cpus>\d+)(?P<traits>[a-z]*)(?P<middle>(?:_[A-Z][A-Za-z0-9]*)*)"
    r"(?:_(?P<version>v\d+))?"
)
"""https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions"""


class AzureLimits(BaseModel):
    """Quotas and shortages of the simulated subscription.

    `quotas` are vCPUs by family, such as standardNVADSA10v5Family; a family that is not named has no limit.
    `stockOuts` are VM sizes of which the region has no machine left.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_alias=True, validate_by_name=True
    )

    quotas: dict[str, Annotated[int, Field(ge=0)]] = {}
    stock_outs: tuple[str, ...] = ()

    def quota(self, family: str) -> int | None:
        """The quota of a family in vCPUs, None without limit."""
        return next((cpus for name, cpus in self.quotas.items() if name.lower() == family.lower()), None)

    def is_out_of_stock(self, size: str) -> bool:
        """Whether no machine of this size is left."""
        return size.lower() in {name.lower() for name in self.stock_outs}


def family(size: str) -> str:
    """The quota family of a VM size: standardNVADSA10v5Family of Standard_NV6ads_A10_v5."""
    match = SIZE.fullmatch(size)
    if not match:
        return size
    middle = match["middle"].replace("_", "")
    return f"standard{match['series']}{match['traits'].upper()}{middle}{match['version'] or ''}Family"
