"""What a rehearsal's AWS account may have, so that refusals can be provoked."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.rehearsal.clouds.limits import AccountLimits


class EksLimits(AccountLimits):
    """Quotas, shortages and what is there of the simulated account.

    `quotas` are vCPUs by bucket: `P`, `G and VT` or `Standard`, with ` Spot` added for spot machines; one
    that is not named has no limit. `stockOuts` are instance types of which no zone has a machine left, or one
    zone has none: `p5.48xlarge` or `p5.48xlarge/us-east-1a`. `subnets` are the zones of subnets that no stack
    made. `images` are the versions of NVIDIA's driver in images of one's own.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()
    subnets: dict[str, str] = Field(default_factory=dict)
    images: dict[str, str] = Field(default_factory=dict)

    def is_out_of_stock(self, instance_type: str, zone: str) -> bool:
        """Whether a zone has no machine of this type left."""
        return bool({instance_type, f"{instance_type}/{zone}"} & set(self.stock_outs))


def bucket(instance_type: str, *, spot: bool) -> str:
    """The quota an instance type counts against: https://docs.aws.amazon.com/ec2/latest/instancetypes/."""
    known = eks_facts().quota(instance_type, spot=False)
    return (known.bucket if known else "Standard") + (" Spot" if spot else "")
