from typing import Any

import pytest

from dra_fleet.clouds.aks.simulation.pool_rules import refuse_other_network
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal

HUB = "/subscriptions/0/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/hub/subnets/"


def pool(name: str, subnet: str = "") -> dict[str, Any]:
    return {"name": name, "vnetSubnetID": subnet or None}


@pytest.mark.parametrize(
    "pools",
    [
        [pool("system"), pool("gpu")],
        [pool("system", f"{HUB}nodes"), pool("gpu", f"{HUB}nodes")],
        [pool("system", f"{HUB}nodes"), pool("gpu", f"{HUB}gpu")],
    ],
)
def test_pools_of_one_kind_of_subnet_are_accepted(pools: list[dict[str, Any]]) -> None:
    refuse_other_network(pools)


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ([pool("system"), pool("gpu", f"{HUB}gpu")], "The Agentpool system does not have subnet defined."),
        ([pool("system", f"{HUB}nodes"), pool("gpu")], "The Agentpool gpu does not have subnet defined."),
        (
            [pool("system", f"{HUB}nodes"), pool("gpu", HUB.replace("hub", "spoke") + "gpu")],
            "All subnets of a cluster's agent pools must be in one virtual network.",
        ),
    ],
)
def test_pools_of_different_kinds_of_subnets_are_refused(pools: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(CloudRefusal) as refused:
        refuse_other_network(pools)
    assert message in str(refused.value)
