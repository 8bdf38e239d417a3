import pytest

from dra_fleet import drivers
from scripts.support import Way, allocated, asks, outcome
from tests.engine.test_examples import ALLOCATED, CHECKED_AT_LENGTH

pytestmark = pytest.mark.slow

NEEDS = "needs the cluster's feature gate {}, which is off in Kubernetes 1.35"
NO_VERSION = "is not a Kubernetes version that ACK offered on 2026-11-21"


def test_allocated_entries_are_rehearsed_by_a_test() -> None:
    assert set(allocated().values()) <= {*ALLOCATED, *CHECKED_AT_LENGTH}
    assert allocated()[Way("aks", "nvidia", "vgpu", "1.35")] == "aks-vgpu"
    assert allocated()[Way("existing", "dracpu", "shares", "1.36")] == "network-cards"


@pytest.mark.parametrize("way", allocated(), ids="-".join)
def test_allocated_entries_are_not_rejected_elsewhere_on_their_platform(way: Way) -> None:
    assert outcome(way) == ("guaranteed", "")


def test_every_strategy_and_every_driver_has_its_rows() -> None:
    for driver in drivers.known():
        strategies = {
            str(item.model_fields["strategy"].default)
            for item in driver.strategies()
            if "replicas" not in item.model_fields  # shared by a device plugin, not by DRA
        }
        assert {*strategies, *driver.unisolated.values()} <= set(asks(driver.name))
    assert {way.sharing for way in allocated()} <= {
        sharing for name in drivers.names() for sharing in asks(name)
    }


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        (
            Way("eks", "tpu", "exclusive", "1.36"),
            "no machine of eks in the catalogue has such devices of tpu",
        ),
        (
            Way("existing", "nvidia", "dynamic mig", "1.35"),
            f"DynamicMIG {NEEDS.format('DRAPartitionableDevices')}",
        ),
        (Way("ack", "nvidia", "exclusive", "1.37"), f"kubernetes {NO_VERSION}"),
    ],
)
def test_a_way_that_does_not_work_is_refused_with_its_reason(way: Way, reason: str) -> None:
    assert outcome(way) == ("", reason)
