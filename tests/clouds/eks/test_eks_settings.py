"""Checks of an EKS cluster that need only the stack file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.clouds.eks.settings import EksClusterSettings
from dra_fleet.fleet import SettingsInvalid, parse
from tests.clouds.eks.eks_fleets import cluster, h100, pool, ultra
from tests.fleet.plan.plan_helpers import planned

if TYPE_CHECKING:
    from collections.abc import Callable

AT = "dra-fleet:fleet.clusters.train"
ROLE = "arn:aws:iam::123456789012:role/given"


def refused(fleet: dict[str, Any]) -> str:
    with pytest.raises(SettingsInvalid) as caught:
        parse(fleet)
    assert len(caught.value.errors) == 1, str(caught.value)
    return str(caught.value.errors[0])


def settings(fleet: dict[str, Any]) -> EksClusterSettings:
    found = parse(fleet).clusters["train"]
    assert isinstance(found, EksClusterSettings)
    return found


def test_a_cluster_is_created_or_adopted_and_not_both() -> None:
    fleet = h100()
    cluster(fleet)["adopt"] = {"name": "theirs", "subnets": {"us-east-1a": "subnet-0000000a"}}
    assert refused(fleet).startswith(f"{AT}: must have exactly one of create and adopt")


def test_a_created_cluster_says_who_may_reach_it() -> None:
    fleet = h100()
    del cluster(fleet)["access"]
    text = refused(fleet)
    assert text.startswith(f"{AT}: must set the access to the API server")
    assert "access: {private: true}" in text


@pytest.mark.parametrize("access", [{}, {"private": True, "publicRanges": ["203.0.113.0/24"]}])
def test_the_api_server_is_private_or_open_to_named_ranges(access: dict[str, Any]) -> None:
    fleet = h100()
    cluster(fleet)["access"] = access
    assert refused(fleet).startswith(f"{AT}.access: must have exactly one of private: true and publicRanges")


@pytest.mark.parametrize(
    "create",
    [{}, {"network": {"zones": ["us-east-1a", "us-east-1b"]}, "subnets": {"us-east-1a": "subnet-0000000a"}}],
)
def test_nodes_live_in_given_subnets_or_in_a_network_of_the_stack(create: dict[str, Any]) -> None:
    fleet = h100()
    cluster(fleet)["create"] = create
    assert refused(fleet).startswith(f"{AT}.create: must have exactly one of subnets and network")


def test_eks_asks_for_two_zones() -> None:
    fleet = h100()
    cluster(fleet)["create"] = {"subnets": {"us-east-1a": "subnet-0000000a"}}
    text = refused(fleet)
    assert text.startswith(f"{AT}.create: must have subnets in at least two zones: EKS requires this")
    assert "fix: add a subnet" in text


def _range(fleet: dict[str, Any]) -> None:
    cluster(fleet)["access"] = {"publicRanges": ["everywhere"]}


def _role(fleet: dict[str, Any]) -> None:
    cluster(fleet)["create"]["nodeRole"] = "node-role"


def _account(fleet: dict[str, Any]) -> None:
    cluster(fleet)["account"] = "1234"


def _reservation(fleet: dict[str, Any]) -> None:
    pool(fleet)["reservation"] = "my-block"


def _release(fleet: dict[str, Any]) -> None:
    pool(fleet)["release"] = "newest"


def _image(fleet: dict[str, Any]) -> None:
    pool(fleet)["image"] = {"id": "ami-0123456789abcdef0"}


def _unavailable(fleet: dict[str, Any]) -> None:
    pool(fleet)["upgrade"] = {"unavailable": 0}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (_range, "access.publicRanges[0]"),
        (_role, "create.nodeRole"),
        (_account, "account"),
        (_reservation, "pools.gpu.reservation"),
        (_release, "pools.gpu.release"),
        (_image, "pools.gpu.image.nvidiaDriver"),
        (_unavailable, "pools.gpu.upgrade.unavailable"),
    ],
)
def test_a_value_of_the_wrong_form_is_refused_where_it_stands(
    change: Callable[[dict[str, Any]], None], path: str
) -> None:
    fleet = h100()
    change(fleet)
    assert refused(fleet).startswith(f"{AT}.{path}: ")


def test_a_mistyped_key_gets_the_nearest_name() -> None:
    fleet = ultra()
    pool(fleet)["placementGroups"] = True
    assert "did you mean placementGroup?" in refused(fleet)


def test_the_zones_are_those_of_the_subnets() -> None:
    fleet = h100()
    assert settings(fleet).zones() == ("us-east-1a", "us-east-1b")
    cluster(fleet)["create"] = {
        "subnets": {"us-east-1c": "subnet-0000000c", "us-east-1b": "subnet-0000000b"},
        "nodeRole": ROLE,
    }
    assert settings(fleet).zones() == ("us-east-1b", "us-east-1c")
    del cluster(fleet)["create"], cluster(fleet)["access"]
    cluster(fleet)["adopt"] = {"name": "theirs", "subnets": {"us-east-1d": "subnet-0000000d"}}
    assert settings(fleet).zones() == ("us-east-1d",)


def test_an_upgrade_takes_a_number_of_nodes_or_a_part() -> None:
    fleet = h100()
    for given, meant in ((2, "2"), ("33%", "33%")):
        pool(fleet)["upgrade"] = {"unavailable": given}
        assert settings(fleet).pools["gpu"].upgrade.unavailable == meant


def test_no_one_gives_a_kubeconfig() -> None:
    assert planned(h100()).clusters[0].kubeconfig is None
