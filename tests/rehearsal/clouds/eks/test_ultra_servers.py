"""Machines of a Capacity Block of P6e-GB200 in the simulated AWS: arm64, one NVLink fabric, EFA cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dra_fleet.rehearsal.world.hardware import NodeHardware
    from tests.rehearsal.clouds.eks.aws_region import Region

MACHINE = "p6e-gb200.36xlarge"
BLOCK = "cr-0123456789abcdef0"


def nodes(aws: Region, count: int, block: str = BLOCK, cards: int = 17) -> list[NodeHardware]:
    aws.cluster()
    interfaces: list[dict[str, Any]] = [
        {
            "networkCardIndex": card,
            "deviceIndex": min(card, 1),
            **({"interfaceType": "efa-only"} if card else {}),
        }
        for card in range(cards)
    ]
    template = aws.template(
        instanceType=MACHINE,
        instanceMarketOptions={"marketType": "capacity-block"},
        capacityReservationSpecification={"capacityReservationTarget": {"capacityReservationId": block}},
        networkInterfaces=interfaces,
    )
    aws.group(
        amiType="AL2023_ARM_64_NVIDIA",
        instanceTypes=None,
        capacityType="CAPACITY_BLOCK",
        subnetIds=["subnet-0000000a"],
        scalingConfig={"minSize": 1, "desiredSize": count, "maxSize": 40},
        launchTemplate={"id": template["id"], "version": "1"},
    )
    return aws.nodes


def test_the_machines_of_a_block_are_on_one_fabric_and_those_beyond_an_ultra_server_on_another(
    aws: Region,
) -> None:
    found = nodes(aws, 19)
    assert len({node.clique for node in found[:18]}) == 1
    assert found[18].clique not in (None, found[0].clique)
    assert {node.labels["kubernetes.io/arch"] for node in found} == {"arm64"}


def test_each_has_the_efa_cards_of_its_launch_template(aws: Region) -> None:
    (node,) = nodes(aws, 1)
    assert node.nics == 16


def test_other_machines_are_on_no_fabric_that_reaches_others(aws: Region) -> None:
    aws.cluster()
    aws.group()
    (node,) = aws.nodes
    assert (node.clique, node.nics) == (None, 0)
