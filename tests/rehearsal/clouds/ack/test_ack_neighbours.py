import pytest

from dra_fleet.rehearsal.clouds.neighbours import neighbours
from tests.rehearsal.clouds.ack.ack_region import ADDON, Region


@pytest.mark.parametrize("kind", sorted(neighbours("ack").keys() - {ADDON}))
def test_a_neighbour_is_there_at_once_with_an_id_and_what_it_reports(kind: str, ack: Region) -> None:
    facts = neighbours("ack")[kind]
    made = ack.make(kind, "it", dict.fromkeys(facts.required, "given"))
    assert made["id"]
    assert facts.outputs.keys() <= made.keys()
    assert facts.name is None or made[facts.name] == "it-1a2b3c4"


def test_one_that_lacks_what_it_needs_is_refused_with_one_sentence(ack: Region) -> None:
    assert ack.faults("alicloud:vpc/natGateway:NatGateway", {}) == {
        "vpcId": "missing required property 'vpcId'"
    }


def test_a_gateway_s_table_of_addresses_is_what_an_entry_names(ack: Region) -> None:
    gateway = ack.make("alicloud:vpc/natGateway:NatGateway", "out", {"vpcId": "vpc-1"})
    inputs = {"snatTableId": gateway["snatTableIds"], "snatIp": "198.51.100.10"}
    entry = ack.make("alicloud:vpc/snatEntry:SnatEntry", "out", inputs)
    assert entry["id"].startswith(f"{gateway['snatTableIds']}:snat-")
