"""Settings of a provider, and what a change of them means."""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration, compare, faults
from dra_fleet.rehearsal.providers.properties import UNKNOWN, SecretValue

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://SERVER:6443"}}]
users: [{name: u, user: {token: TOKEN}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def settings(server: str, token: str = "t", **more: Any) -> dict[str, Any]:  # noqa: S107 - no real token
    return {"kubeconfig": SecretValue(KUBECONFIG.replace("SERVER", server).replace("TOKEN", token)), **more}


def test_another_server_replaces_and_another_token_updates() -> None:
    old = settings("one")
    assert compare(old, settings("two")).replacing == ["kubeconfig"]
    other_token = compare(old, settings("one", "other"))
    assert (other_token.changed, other_token.replacing) == (["kubeconfig"], [])
    assert compare(old, settings("one")).changed == []


def test_the_same_identifier_keeps_everything_and_another_replaces() -> None:
    old = settings("one", clusterIdentifier="a")
    same = compare(old, settings("two", clusterIdentifier="a"))
    assert (same.changed, same.replacing) == (["kubeconfig"], [])
    assert compare(old, settings("one", clusterIdentifier="b")).replacing == ["clusterIdentifier"]


def test_adding_or_removing_an_identifier_replaces_nothing() -> None:
    assert compare(settings("one"), settings("one", clusterIdentifier="a")).replacing == []
    assert compare(settings("one", clusterIdentifier="a"), settings("one")).replacing == []


def test_a_kubeconfig_not_yet_known_replaces_without_an_identifier_and_not_with_one() -> None:
    assert compare(settings("one"), {"kubeconfig": UNKNOWN}).replacing == ["kubeconfig"]
    old = settings("one", clusterIdentifier="a")
    assert compare(old, {"kubeconfig": UNKNOWN, "clusterIdentifier": "a"}).replacing == []


def test_nothing_but_an_unknown_kubeconfig_is_compared() -> None:
    unknown = {"kubeconfig": UNKNOWN, "clusterIdentifier": "a", "deleteUnreachable": True}
    assert compare(settings("one", clusterIdentifier="a"), unknown).changed == ["kubeconfig"]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("kubeConfig", "x", "no setting of this provider; allowed: cluster, "),
        ("renderYamlToDirectory", 3, "got a int, allowed is text"),
        ("deleteUnreachable", "maybe", "got 'maybe', allowed are true and false"),
        ("context", 3, "got a int, allowed is text"),
        ("enableServerSideApply", "no", "got 'no', allowed are true and false"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(key: str, value: object, reason: str) -> None:
    [(found, text)] = faults({key: value})
    assert found == key
    assert reason in text


@pytest.mark.parametrize("key", ["kubeconfig", "context", "cluster"])
def test_a_cluster_and_a_directory_to_render_to_exclude_one_another(key: str) -> None:
    assert faults({"renderYamlToDirectory": "out", key: "x", "namespace": "n"}) == [
        (key, f'"{key}" arg is not compatible with "renderYamlToDirectory" arg')
    ]
    assert faults({"renderYamlToDirectory": "", key: "x"}) == []
    assert faults({"renderYamlToDirectory": UNKNOWN, key: "x"}) == []


def test_another_directory_to_render_to_replaces_everything() -> None:
    one, two = {"renderYamlToDirectory": "one"}, {"renderYamlToDirectory": "two"}
    assert compare(one, two).replacing == ["renderYamlToDirectory"]
    assert compare({**one, "namespace": "a"}, {**one, "namespace": "b"}).replacing == []


def test_settings_of_the_engine_and_nulls_are_no_fault() -> None:
    assert (
        faults({"version": "4.34.2", "kubeconfig": None, "context": UNKNOWN, "deleteUnreachable": "true"})
        == []
    )


def test_switches_are_read_as_booleans_or_texts_and_from_the_published_plugins_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    assert Configuration.parse({}).delete_unreachable
    assert not Configuration.parse({"deleteUnreachable": "false"}).delete_unreachable
    assert Configuration.parse({"enableSecretMutable": True}).mutable_data("Secret")
