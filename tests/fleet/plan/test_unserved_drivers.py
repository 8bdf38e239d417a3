"""Published drivers of which too little is known: one is told what to write of them, and that works."""

from __future__ import annotations

from typing import Any, cast

import pytest
import yaml12

from dra_fleet import drivers
from dra_fleet.drivers.operators import unserved
from tests.clouds.eks.eks_fleets import cluster, h100
from tests.fleet.plan.plan_helpers import planned, refused


@pytest.mark.parametrize("name", sorted(unserved()))
def test_who_asks_for_one_by_its_name_is_told_why_and_what_to_write(name: str) -> None:
    fleet, told = h100(), unserved()[name]
    cluster(fleet)["drivers"][name] = {"version": "1.0.0"}
    assert refused(fleet) == {
        f"clusters.train.drivers.{name}": "is a DRA driver that this program does not serve by itself: "
        f"{told.why}\n  got: {name}\n  fix: describe it: {told.description}, and its devices: devices: "
        f"[{{driver: {told.publishes}, …}}] of pools"
    }


@pytest.mark.parametrize("name", sorted(unserved()))
def test_what_one_is_told_to_write_is_planned(name: str) -> None:
    fleet, told = h100(), unserved()[name]
    described = cast("dict[str, Any]", yaml12.parse_yaml(f"{{version: 1.0.0, {told.description}}}"))
    cluster(fleet)["drivers"][name] = described
    cluster(fleet)["pools"]["others"] = {
        "machine": {"instanceType": "trn2.48xlarge", "cpus": 192, "memory": 2048},
        "nodes": {"min": 1, "max": 1},
        "devices": [{"driver": told.publishes, "name": "device", "count": 2}],
    }
    [release] = [one for one in planned(fleet).clusters[0].releases if one.driver == told.publishes]
    assert release.chart == told.chart
    assert described.get("values", {}).items() <= release.values.items()


def test_none_of_them_is_served() -> None:
    published = {publisher for driver in drivers.known() for publisher in driver.publishers}
    assert not published & {one.publishes for one in unserved().values()}
    assert not unserved().keys() & set(drivers.names())
