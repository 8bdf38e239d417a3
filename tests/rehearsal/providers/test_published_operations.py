"""The stand-in answers as the published Kubernetes provider, by `published_operations.yaml`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from dra_fleet.rehearsal.providers.kubernetes import awaiting
from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration, compare, faults
from dra_fleet.rehearsal.providers.kubernetes.diffing import changes
from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.patching import is_patch
from dra_fleet.rehearsal.providers.kubernetes.readiness import readiness
from dra_fleet.rehearsal.providers.kubernetes.replacing import replaces, replacing_fields
from dra_fleet.rehearsal.providers.kubernetes.state import state_of
from dra_fleet.rehearsal.providers.kubernetes.wait_for import expectations, met
from dra_fleet.rehearsal.providers.properties import SecretValue

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi

PUBLISHED: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("published_operations.yaml").read_text(encoding="utf-8")
)
KINDS = tuple(PUBLISHED["sources"])
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://SERVER:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def operations(kind: str) -> list[Any]:
    return [pytest.param(row, id=f"{kind}-{number}") for number, row in enumerate(PUBLISHED[kind], 1)]


def test_there_are_a_hundred_operations_and_each_kind_has_its_source() -> None:
    assert sum(len(PUBLISHED[kind]) for kind in KINDS) >= 100
    assert all(PUBLISHED["sources"][kind].startswith("https://") for kind in KINDS)


@pytest.mark.parametrize("row", operations("replaced"))
def test_a_change_replaces_where_the_published_provider_replaces(row: dict[str, Any]) -> None:
    api_version, kind = row["kind"].split()
    old, new = ({"apiVersion": api_version, "kind": kind, **row[side]} for side in ("old", "new"))
    fields = replacing_fields(new, mutable_data=False)
    found = [str(change) for change in changes(old, new) if replaces(change.path, change.new, fields)]
    assert found == row["answer"]


@pytest.mark.parametrize("row", operations("ready"))
def test_an_object_is_waited_for_where_the_published_provider_waits(row: dict[str, Any]) -> None:
    assert readiness({"metadata": {}, **row["object"]}).ready is row["answer"]


class EndpointsApi:
    """A server that has Endpoints, or none."""

    def __init__(self, endpoints: dict[str, Any] | None) -> None:
        self._endpoints = endpoints

    async def find(self, *_: str | None) -> dict[str, Any] | None:
        return self._endpoints


@pytest.mark.parametrize("row", operations("targeted"))
def test_a_service_waits_until_it_finds_pods_where_the_published_provider_waits(row: dict[str, Any]) -> None:
    live = {"metadata": {"name": "web", "namespace": "default"}, **row["object"]}
    api = cast("KubeApi", EndpointsApi(row["endpoints"]))
    assert asyncio.run(awaiting.judged(api, live, {})).ready is row["answer"]


@pytest.mark.parametrize("row", operations("skipped"))
def test_a_deletion_is_not_waited_for_where_the_published_provider_does_not(row: dict[str, Any]) -> None:
    api_version, kind = row["kind"].split()
    inputs = {"apiVersion": api_version, "kind": kind, "metadata": {"annotations": row["annotations"]}}
    assert awaiting.skips_deletion(inputs) is row["answer"]


@pytest.mark.parametrize("row", operations("patience"))
def test_a_deletion_is_waited_for_as_long_as_the_published_provider_waits(row: dict[str, Any]) -> None:
    inputs = {"metadata": {"annotations": row["annotations"]}}
    assert awaiting.timeout_of(inputs, row["option"], 300.0) == row["answer"]


@pytest.mark.parametrize("row", operations("dependents"))
def test_dependents_go_as_the_published_provider_lets_them_go(row: dict[str, Any]) -> None:
    assert awaiting.propagation({"metadata": {"annotations": row["annotations"]}}) == row["answer"]


def waiting(expression: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {"pulumi.com/waitFor": expression}}}


@pytest.mark.parametrize("row", operations("waited"))
def test_what_a_program_waits_for_is_there_where_the_published_provider_sees_it(row: dict[str, Any]) -> None:
    found = met({"metadata": {}, **row["object"]}, expectations(waiting(row["wait"])))
    assert found.ready is row["answer"]
    assert bool(found.reason) is not row["answer"]


@pytest.mark.parametrize("row", operations("refused_wait"))
def test_what_is_no_expectation_is_refused_as_the_published_provider_does(row: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as refused:
        expectations(waiting(row["wait"]))
    assert str(refused.value) == f"annotation pulumi.com/waitFor: {row['answer']}"


@pytest.mark.parametrize("row", operations("switches"))
def test_a_switch_of_the_published_provider_is_taken(row: dict[str, Any]) -> None:
    assert faults(row["settings"]) == []
    parsed = Configuration.parse(row["settings"])
    assert sorted(key for key, value in vars(parsed).items() if value is True) == row["answer"]


@pytest.mark.parametrize("row", operations("secret"))
def test_outputs_of_a_secret_are_secret_where_the_published_provider_s_are(row: dict[str, Any]) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    state = state_of({**body, **row["live"]}, {**body, **row["inputs"]}, "manager")
    assert [key for key, value in state.items() if isinstance(value, SecretValue)] == row["answer"]


@pytest.mark.parametrize("row", operations("patch"))
def test_a_patch_is_told_from_a_kind_that_is_called_one(row: dict[str, Any]) -> None:
    assert is_patch(row["type"], {"kind": row["kind"]}) is row["answer"]


@pytest.mark.parametrize("row", operations("settings"))
def test_settings_replace_where_the_published_provider_replaces(row: dict[str, Any]) -> None:
    old, new = (
        {"kubeconfig": KUBECONFIG.replace("SERVER", side["server"])}
        | {key: value for key, value in side.items() if key != "server"}
        for side in (row["old"], row["new"])
    )
    assert compare(old, new).replacing == row["answer"]
