"""Names of objects, made and given."""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.naming import (
    AUTONAMED,
    Autonaming,
    NamingMode,
    Urn,
    adopt_name,
    assign_name,
    kind_of,
    parse_id,
    resource_id,
)
from dra_fleet.rehearsal.providers.properties import UNKNOWN

URN = Urn.parse("urn:pulumi:dev::p::a:b:C$kubernetes:core/v1:Namespace::space::2")


def test_a_urn_gives_the_innermost_type_and_the_whole_name() -> None:
    assert (URN.type, URN.name) == ("kubernetes:core/v1:Namespace", "space::2")


def test_a_nameless_object_gets_eight_digits_that_the_seed_decides() -> None:
    first: dict[str, Any] = {}
    second: dict[str, Any] = {"metadata": {"annotations": {"a": "b"}}}
    assign_name(first, URN, b"seed", None)
    assign_name(second, URN, b"seed", None)
    name = first["metadata"]["name"]
    assert name == second["metadata"]["name"]
    assert len(name) == len("space::2-") + 8
    assert second["metadata"]["annotations"] == {"a": "b", AUTONAMED: "true"}


def test_a_given_or_still_unknown_name_is_left_alone() -> None:
    for body in ({"metadata": {"name": "mine"}}, {"metadata": {"name": UNKNOWN}}, {"metadata": UNKNOWN}):
        before = repr(body)
        assign_name(body, URN, b"seed", None)
        assert repr(body) == before


def test_the_projects_own_naming_is_followed() -> None:
    body: dict[str, Any] = {}
    assign_name(body, URN, b"", Autonaming("proposed", NamingMode.ENFORCE))
    assert body["metadata"]["name"] == "proposed"
    with pytest.raises(RefusedError, match="automatic naming is turned off by pulumi:autonaming"):
        assign_name({}, URN, b"", Autonaming("", NamingMode.DISABLE))


def test_a_made_name_is_kept_and_a_given_one_is_not_inherited() -> None:
    made: dict[str, Any] = {"metadata": {"name": "space-12345678", "annotations": {AUTONAMED: "true"}}}
    body: dict[str, Any] = {"metadata": {}}
    assert adopt_name(body, made)
    assert body == made
    nameless: dict[str, Any] = {}
    assert not adopt_name(nameless, {"metadata": {"name": "mine"}})


def test_ids_carry_the_namespace_where_there_is_one() -> None:
    assert resource_id({"metadata": {"name": "n", "namespace": "s"}}) == "s/n"
    assert parse_id("s/n") == ("s", "n")
    assert parse_id("n") == (None, "n")


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("kubernetes:core/v1:Pod", ("v1", "Pod")),
        ("kubernetes:apps/v1:DaemonSet", ("apps/v1", "DaemonSet")),
        ("kubernetes:resource.k8s.io/v1:DeviceClass", ("resource.k8s.io/v1", "DeviceClass")),
    ],
)
def test_a_type_names_its_api(token: str, expected: tuple[str, str]) -> None:
    assert kind_of(token) == expected


def test_the_kind_of_a_patch_is_that_of_what_it_patches() -> None:
    assert kind_of("kubernetes:apps/v1:DaemonSetPatch") == ("apps/v1", "DaemonSet")
    assert kind_of("kubernetes:example.com/v1:Patch") == ("example.com/v1", "Patch")
