from collections.abc import Iterator

import pytest

from dra_fleet import clouds
from dra_fleet.clouds import Cloud
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from tests.contracts.meadow_stack import stack
from tests.contracts.registering import installed

REQUIRED = ("exposure", "machines", "plan_pool", "resources", "settings")
"""Methods without a default answer."""


@pytest.fixture
def meadow() -> Iterator[Cloud]:
    with installed():
        yield clouds.named("meadow")


@pytest.mark.usefixtures("meadow")
def test_it_is_known_beside_the_built_in_ones() -> None:
    assert clouds.names() == [*clouds.BUILT_IN, "meadow"]


@pytest.mark.usefixtures("meadow")
def test_its_stack_is_planned_by_its_own_folder() -> None:
    (cluster,) = make_plan(parse(stack())).clusters
    (hens,) = cluster.pools
    assert (cluster.cloud, hens.machine.name, hens.labels) == ("meadow", "barn", {"dra-fleet/pool": "hens"})


@pytest.mark.usefixtures("meadow")
def test_its_own_check_refuses_its_own_settings() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        make_plan(parse(stack(field="fallow")))
    (error,) = invalid.value.errors
    assert str(error) == "dra-fleet:fleet.clusters.lab.field: bears nothing this year\n  got: fallow"


def test_it_is_not_known_where_its_package_is_not_installed() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        parse(stack())
    (error,) = invalid.value.errors
    assert error.path == "dra-fleet:fleet.clusters.lab.cloud"
    assert error.what == "unknown cloud"


@pytest.mark.parametrize("method", REQUIRED)
def test_missing_method_is_named(meadow: Cloud, method: str) -> None:
    given = {name: vars(type(meadow))[name] for name in REQUIRED if name != method}
    incomplete = type("Incomplete", (Cloud,), given)
    with pytest.raises(TypeError, match=rf"class Incomplete .*abstract method '?{method}'?$"):
        incomplete()


def test_required_methods_are_enough(meadow: Cloud) -> None:
    given = {name: vars(type(meadow))[name] for name in (*REQUIRED, "name", "title")}
    bare = type("Bare", (Cloud,), given)()
    for part in ("component", "simulation"):
        with pytest.raises(ExpectedError, match=rf"^cloud meadow has no {part}: write Bare\.{part}$"):
            getattr(bare, part)()


def test_cluster_of_another_cloud_is_refused(meadow: Cloud) -> None:
    (cluster,) = make_plan(parse(stack())).clusters
    assert meadow.own(cluster.settings) is cluster.settings
    with pytest.raises(TypeError, match=r"^MeadowClusterSettings is not a cluster of AKS$"):
        clouds.named("aks").own(cluster.settings)
