from typing import Any

import pytest

from dra_fleet import drivers
from dra_fleet.proof.prove import prove
from tests.fleet.plan.plan_helpers import dev, planned

NVIDIA = "dra-fleet:fleet.clusters.lab.drivers.nvidia"


def lab(version: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
    fleet = dev()
    fleet["clusters"]["lab"]["drivers"]["nvidia"] |= {"version": version, "values": values or {}}
    return fleet


def test_a_newer_version_is_planned_and_proved_with_a_warning_that_names_what_cannot_be_checked() -> None:
    plan = planned(lab("0.6.0"))
    (release,) = [item for item in plan.clusters[0].releases if item.driver == "gpu.nvidia.com"]
    assert release.version == "0.6.0"
    (warning,) = plan.warnings
    assert warning == (
        f"{NVIDIA}.version: 0.6.0 is not known to this program: values, defaults, feature gates, classes "
        "and what it publishes are checked by 0.5.1, the newest known before it, and values that one would "
        "refuse are warnings"
    )
    assert prove(plan).fits


def test_a_value_that_only_the_new_chart_may_know_is_a_warning() -> None:
    warnings = planned(lab("0.6.0", {"brandNew": True})).warnings
    assert warnings[1].startswith(f"{NVIDIA}.values.brandNew: 0.5.1 refuses it: ")


@pytest.mark.parametrize(
    ("version", "checked_by"),
    [("25.9.0", "25.8.1"), ("26.1.0", "25.12.0"), ("0.4.7", "0.4.1"), ("v0.6.0-rc.1", "0.5.1")],
)
def test_the_newest_version_before_it_stands_for_one_that_is_not_known(version: str, checked_by: str) -> None:
    nvidia = drivers.named("nvidia")
    assert nvidia is not None
    found = nvidia.facts.checked_version(version)
    assert found is not None
    assert (found.version, found.checked_by) == (version, checked_by)
    assert nvidia.facts.attributes_in(version) == nvidia.facts.attributes_in(checked_by)
    assert not nvidia.facts.is_older(version, checked_by)


@pytest.mark.parametrize("version", ["latest", "0.5", ">=0.5.0", "0.0.1"])
def test_partial_versions_and_versions_older_than_all_match_nothing(version: str) -> None:
    nvidia = drivers.named("nvidia")
    assert nvidia is not None
    assert nvidia.facts.checked_version(version) is None
