from typing import Any, cast

import pytest
import yaml12

from dra_fleet import drivers
from dra_fleet.drivers.operators import unserved
from tests.clouds.eks.eks_fleets import cluster, h100
from tests.fleet.plan.plan_helpers import planned, refused


@pytest.mark.parametrize("name", sorted(unserved()))
def test_an_unserved_driver_by_name_is_refused_with_the_lines_to_write(name: str) -> None:
    fleet, output = h100(), unserved()[name]
    cluster(fleet)["drivers"][name] = {"version": "1.0.0"}
    assert refused(fleet) == {
        f"clusters.train.drivers.{name}": "is a DRA driver that this program does not serve by itself: "
        f"{output.why}\n  got: {name}\n  fix: describe it: {output.description}, and its devices: devices: "
        f"[{{driver: {output.publishes}, …}}] of pools"
    }


@pytest.mark.parametrize("name", sorted(unserved()))
def test_plans_the_required_settings(name: str) -> None:
    fleet, output = h100(), unserved()[name]
    described = cast("dict[str, Any]", yaml12.parse_yaml(f"{{version: 1.0.0, {output.description}}}"))
    cluster(fleet)["drivers"][name] = described
    cluster(fleet)["pools"]["others"] = {
        "machine": {"instanceType": "trn2.48xlarge", "cpus": 192, "memory": 2048},
        "nodes": {"min": 1, "max": 1},
        "devices": [{"driver": output.publishes, "name": "device", "count": 2}],
    }
    [release] = [one for one in planned(fleet).clusters[0].releases if one.driver == output.publishes]
    assert release.chart == output.chart
    assert described.get("values", {}).items() <= release.values.items()


def test_none_of_them_is_served() -> None:
    published = {publisher for driver in drivers.known() for publisher in driver.publishers}
    assert not published & {one.publishes for one in unserved().values()}
    assert not unserved().keys() & set(drivers.names())
