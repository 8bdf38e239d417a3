"""Which zone a subnet is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.eks.simulation.network_types import SUBNET

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount


def zone_of(account: EksAccount, subnet: str, region: str) -> str:
    """The zone a subnet is in; one that no stack made is in the hardware file, or in the first zone."""
    found = account.find(SUBNET, subnet)
    if found is not None:
        return str(found["inputs"].get("availabilityZone") or f"{region}a")
    return account.limits.subnets.get(subnet, f"{region}a")
