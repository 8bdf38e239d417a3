"""What a rehearsal's account at Alibaba Cloud may have, so that refusals can be provoked."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dra_fleet.rehearsal.clouds.limits import AccountLimits


class AckLimits(AccountLimits):
    """Quotas, shortages and what is there of the simulated account.

    `quotas` are vCPUs by instance family, such as `ecs.gn7i`, or of all families: `postpaid` and `spot`; one
    that is not named has no limit. `stockOuts` are instance types of which no zone has a machine left, or one
    zone has none: `ecs.gn7i-c8g1.2xlarge` or `ecs.gn7i-c8g1.2xlarge/cn-beijing-a`. `vswitches` are the zones
    of vSwitches that no stack made. `drivers` are the versions of NVIDIA's driver that ACK installs; without
    any it installs what it is asked for.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()
    vswitches: dict[str, str] = Field(default_factory=dict)
    drivers: tuple[str, ...] = ()

    def is_out_of_stock(self, instance_type: str, zone: str) -> bool:
        """Whether a zone has no machine of this type left."""
        return bool({instance_type, f"{instance_type}/{zone}"} & set(self.stock_outs))
