"""Machines of a Capacity Block of P6e-GB200 in the simulated AWS: arm64, one NVLink fabric, EFA cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.rehearsal.clouds.eks.eks_region import Region
    from tests.rehearsal.clouds.remembering_planes import Entry

MACHINE = "p6e-gb200.36xlarge"
BLOCK = "cr-0123456789abcdef0"


def nodes(eks: Region, count: int, block: str = BLOCK, cards: int = 17) -> list[Entry]:
    eks.cluster()
    interfaces: list[dict[str, Any]] = [
        {
            "networkCardIndex": card,
            "deviceIndex": min(card, 1),
            **({"interfaceType": "efa-only"} if card else {}),
        }
        for card in range(cards)
    ]
    template = eks.template(
        instanceType=MACHINE,
        instanceMarketOptions={"marketType": "capacity-block"},
        capacityReservationSpecification={"capacityReservationTarget": {"capacityReservationId": block}},
        networkInterfaces=interfaces,
    )
    eks.group(
        amiType="AL2023_ARM_64_NVIDIA",
        instanceTypes=None,
        capacityType="CAPACITY_BLOCK",
        subnetIds=["subnet-0000000a"],
        scalingConfig={"minSize": 1, "desiredSize": count, "maxSize": 40},
        launchTemplate={"id": template["id"], "version": "1"},
    )
    return eks.nodes


def test_the_machines_of_a_block_are_on_one_fabric_and_those_beyond_an_ultra_server_on_another(
    eks: Region,
) -> None:
    found = nodes(eks, 19)
    assert len({node.clique for node in found[:18]}) == 1
    assert found[18].clique not in (None, found[0].clique)
    assert {node.labels["kubernetes.io/arch"] for node in found} == {"arm64"}


def test_each_has_the_efa_cards_of_its_launch_template(eks: Region) -> None:
    (node,) = nodes(eks, 1)
    assert node.nics == 16


def test_other_machines_are_on_no_fabric_that_reaches_others(eks: Region) -> None:
    eks.cluster()
    eks.group()
    (node,) = eks.nodes
    assert (node.clique, node.nics) == (None, 0)
