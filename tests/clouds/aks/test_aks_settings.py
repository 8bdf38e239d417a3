from typing import Any

import pytest

from dra_fleet.clouds.aks.settings import AksClusterSettings
from dra_fleet.fleet import SettingsInvalid, parse
from tests.clouds.aks.aks_fleets import cluster, pool, vgpu
from tests.fleet.plan.plan_helpers import planned

AT = "dra-fleet:fleet.clusters.studio"


def refused(fleet: dict[str, Any]) -> str:
    with pytest.raises(SettingsInvalid) as caught:
        parse(fleet)
    assert len(caught.value.errors) == 1, str(caught.value)
    return str(caught.value.errors[0])


def test_a_cluster_is_created_or_adopted_and_not_both() -> None:
    fleet = vgpu()
    cluster(fleet)["adopt"] = {"resourceGroup": "rg", "name": "theirs"}
    assert refused(fleet).startswith(f"{AT}: must have exactly one of create and adopt")


def test_a_created_cluster_says_who_may_reach_it() -> None:
    fleet = vgpu()
    del cluster(fleet)["access"]
    text = refused(fleet)
    assert text.startswith(f"{AT}: must set the access to the API server")
    assert "access: {private: true}" in text


def test_an_open_api_server_cannot_be_asked_for() -> None:
    fleet = vgpu()
    cluster(fleet)["access"] = {}
    assert refused(fleet).startswith(
        f"{AT}.access: must have exactly one of private: true and authorizedRanges"
    )


def test_automatic_upgrades_need_a_window() -> None:
    fleet = vgpu()
    cluster(fleet)["upgrades"] = {"kubernetes": "patch"}
    text = refused(fleet)
    assert text.startswith(f"{AT}.upgrades: must have a window when upgrades run by themselves")
    assert 'add window: {day: Sunday, start: "02:00", hours: 4}' in text


def test_a_pool_upgrades_one_way() -> None:
    fleet = vgpu()
    pool(fleet)["upgrade"] = {"surge": 1, "unavailable": "33%"}
    assert refused(fleet).startswith(f"{AT}.pools.gpu.upgrade: must not have both surge and unavailable")


def test_a_mistyped_key_gets_the_nearest_name() -> None:
    fleet = vgpu()
    pool(fleet)["gpuDrivers"] = "aks"
    assert "did you mean gpuDriver?" in refused(fleet)


def test_an_unknown_cloud_lists_the_known_ones() -> None:
    fleet = vgpu()
    cluster(fleet)["cloud"] = "azure"
    text = refused(fleet)
    assert "aks" in text
    assert "existing" in text


def test_the_key_of_another_cloud_is_refused() -> None:
    fleet = vgpu()
    cluster(fleet)["kubeconfig"] = {"context": "lab"}
    output = refused(fleet)
    assert output.startswith(f"{AT}.kubeconfig: unknown key for cloud aks\n  got: kubeconfig\n")
    assert output.endswith("  fix: remove it; only existing has this key")


def test_defaults_need_no_quota_and_start_nothing_by_themselves() -> None:
    settings = parse(vgpu()).clusters["studio"]
    assert isinstance(settings, AksClusterSettings)
    assert settings.pools["gpu"].upgrade.unavailable == "1"
    assert (settings.upgrades.kubernetes, settings.upgrades.node_image) == ("none", "None")
    assert planned(vgpu()).clusters[0].kubeconfig is None


@pytest.mark.parametrize(
    ("ranges", "output"),
    [
        (
            "203.0.113.7",
            ('invalid format\n  got: "203.0.113.7"\n'
            "  allowed: IPv4 range such as 203.0.113.0/24"),
        ),
        (
            "999.0.113.0/24",
            ('is not an IPv4 range\n  got: "999.0.113.0/24"\n  allowed: a range such as 203.0.113.0/24\n'
            "  fix: write one address as 203.0.113.7/32"),
        ),
        (
            "0.0.0.0/0",
            ('opens the API server to everyone\n  got: "0.0.0.0/0"\n'
            "  allowed: a range such as 203.0.113.0/24\n  fix: name your own ranges, or private: true"),
        ),
    ],
)  # fmt: skip
def test_a_range_of_addresses_is_one(ranges: str, output: str) -> None:
    fleet = vgpu()
    cluster(fleet)["access"] = {"authorizedRanges": [ranges]}
    assert refused(fleet) == f"{AT}.access.authorizedRanges[0]: {output}"


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("region", "East US", "Azure region without spaces, such as eastus"),
        (
            "subscription",
            "Pay-As-You-Go",
            "Subscription id. Default: the subscription of the login",
        ),
    ],
)
def test_a_name_that_azure_would_not_take_is_reported_with_what_it_would(
    key: str, value: str, allowed: str
) -> None:
    fleet = vgpu()
    cluster(fleet)[key] = value
    assert refused(fleet) == (f'{AT}.{key}: invalid format\n  got: "{value}"\n  allowed: {allowed}')


def test_a_zone_may_be_written_as_a_number() -> None:
    fleet = vgpu()
    pool(fleet)["zones"] = [1, "2"]
    settings = parse(fleet).clusters["studio"]
    assert isinstance(settings, AksClusterSettings)
    assert settings.pools["gpu"].zones == ("1", "2")
