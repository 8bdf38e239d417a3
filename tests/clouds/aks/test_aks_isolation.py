from typing import Any

import pytest

from tests.clouds.aks.aks_fleets import vgpu, warnings
from tests.fleet.plan.plan_helpers import planned, refused


def test_a_production_stack_does_not_share_without_isolation_silently() -> None:
    fleet = vgpu()
    fleet["environment"] = "production"
    fleet["claims"] = {"one": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}, "shared": True}}
    trial: dict[str, Any] = {"cluster": "studio", "claim": "one", "copies": 2, "image": "trial:1"}
    fleet["workloads"] = {"trial": trial}
    assert refused(fleet) == {
        "workloads.trial.claim": "shares devices by one claim of 2 pods, which isolates neither memory "
        "nor faults; "
        "production needs a reason for that\n  got: one\n"
        "  allowed: exclusive GPUs, MIG partitions, vGPUs\n"
        "  fix: ask for a MIG partition, or say why in accept: {isolation: the reason}"
    }
    trial["accept"] = {"isolation": "two trials of one person"}
    assert planned(fleet).warnings == ()


@pytest.mark.parametrize(("strategy", "words"), [("TimeSlicing", "time-slicing"), ("MPS", "MPS")])
def test_a_claim_s_own_sharing_is_seen(strategy: str, words: str) -> None:
    fleet = vgpu()
    config = {"driver": "gpu.nvidia.com", "parameters": {"sharing": {"strategy": strategy}}}
    fleet["claims"] = {
        "one": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}, "config": [{"opaque": config}]}
    }
    fleet["workloads"] = {"trial": {"cluster": "studio", "claim": "one", "copies": 1}}
    assert warnings(fleet) == (
        f"workload trial shares devices by {words}, which isolates neither memory nor faults",
    )


def test_a_strategy_that_is_no_word_is_left_to_the_driver_s_own_check() -> None:
    fleet = vgpu()
    config = {"driver": "gpu.nvidia.com", "parameters": {"sharing": {"strategy": {"name": "MPS"}}}}
    fleet["claims"] = {
        "one": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}, "config": [{"opaque": config}]}
    }
    fleet["workloads"] = {"trial": {"cluster": "studio", "claim": "one", "copies": 1}}
    assert warnings(fleet) == ()
