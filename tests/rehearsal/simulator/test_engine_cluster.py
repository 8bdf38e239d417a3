import asyncio
import json
import os
import ssl
import subprocess
from typing import Any

import httpx2
import pytest

from dra_fleet.clusters.client import ApiError, KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.simulator.client import SimulatorAnswerError
from tests.engine_support import FLOOR, NEWEST, RehearsalWorld, SimulatedCluster

pytestmark = pytest.mark.engine


@pytest.fixture(params=[NEWEST, FLOOR])
def cluster(request: pytest.FixtureRequest, rehearsal_simulator: RehearsalWorld) -> SimulatedCluster:
    return rehearsal_simulator.cluster(request.param)


@pytest.fixture
def newest(rehearsal_simulator: RehearsalWorld) -> SimulatedCluster:
    return rehearsal_simulator.cluster(NEWEST)


def as_user(cluster: SimulatedCluster) -> KubeApi:
    return KubeApi.connect(read_kubeconfig(str(cluster.kubeconfig), cluster.name))


def test_a_cluster_says_the_version_it_was_asked_for(cluster: SimulatedCluster) -> None:
    async def ask() -> tuple[str, list[str]]:
        async with as_user(cluster) as api:
            group = await api.request("GET", "/apis/resource.k8s.io")
            version = await api.version()
            return version["gitVersion"], [entry["version"] for entry in group["versions"]]

    assert asyncio.run(ask()) == (cluster.version, ["v1"])


def claim_with_capacity(name: str) -> dict[str, Any]:
    exactly = {"deviceClassName": "any.example.com", "capacity": {"requests": {"memory": "1Gi"}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "one", "exactly": exactly}]}},
    }


@pytest.mark.parametrize(("version", "kept"), [(NEWEST, True), (FLOOR, False)])
def test_an_older_minor_drops_the_fields_it_does_not_know(
    rehearsal_simulator: RehearsalWorld, version: str, kept: bool
) -> None:
    async def ask() -> dict[str, Any]:
        async with as_user(rehearsal_simulator.cluster(version)) as api:
            return await api.create(claim_with_capacity("emulated"), dry_run=True)

    stored = asyncio.run(ask())
    assert ("capacity" in stored["spec"]["devices"]["requests"][0]["exactly"]) == kept


def ask_plainly(cluster: SimulatedCluster, headers: dict[str, str]) -> httpx2.Response:
    """List pods with nothing but these headers."""
    ca = cluster.home.clusters / cluster.name / "pki" / "ca.crt"
    trust = ssl.create_default_context(cafile=ca)
    return httpx2.get(f"{cluster.server}/api/v1/pods", headers=headers, verify=trust, trust_env=False)


def test_strangers_are_refused(newest: SimulatedCluster) -> None:
    answer = ask_plainly(newest, {})
    assert answer.status_code == httpx2.codes.FORBIDDEN
    assert answer.json()["message"].startswith('pods is forbidden: User "system:anonymous" cannot list')


def test_a_component_may_only_do_what_its_role_says(newest: SimulatedCluster) -> None:
    kubeconfig = newest.admin_kubeconfig.with_name("scheduler.kubeconfig")

    async def ask() -> None:
        async with KubeApi.connect(read_kubeconfig(str(kubeconfig))) as api:
            await api.list("v1", "Pod")
            await api.list("v1", "Secret")

    with pytest.raises(ApiError, match='User "system:kube-scheduler" cannot list resource "secrets"'):
        asyncio.run(ask())


def test_another_clusters_token_is_worth_nothing(
    rehearsal_simulator: RehearsalWorld, newest: SimulatedCluster
) -> None:
    foreign = rehearsal_simulator.client.token(rehearsal_simulator.cluster(FLOOR).name)
    answer = ask_plainly(newest, {"Authorization": f"Bearer {foreign}"})
    assert answer.status_code == httpx2.codes.UNAUTHORIZED


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_helper_hands_out_a_token_that_expires(newest: SimulatedCluster, version: str) -> None:
    asked = f"client.authentication.k8s.io/{version}"
    environment = {"KUBERNETES_EXEC_INFO": json.dumps({"apiVersion": asked})}
    answer = subprocess.run(
        ["dra-fleet-token", newest.name],
        capture_output=True,
        env=os.environ | environment,
        timeout=120,
        check=True,
    )
    credential = json.loads(answer.stdout)
    assert (credential["apiVersion"], credential["kind"]) == (asked, "ExecCredential")
    assert set(credential["status"]) == {"token", "expirationTimestamp"}


def test_the_same_request_again_changes_nothing(
    rehearsal_simulator: RehearsalWorld, newest: SimulatedCluster
) -> None:
    before = rehearsal_simulator.client.cluster(newest.name)
    again = rehearsal_simulator.cluster(NEWEST)
    assert again == newest
    assert rehearsal_simulator.client.cluster(newest.name)["components"] == before["components"]


def test_another_version_under_the_same_name_is_refused_with_the_fix(
    rehearsal_simulator: RehearsalWorld, newest: SimulatedCluster
) -> None:
    message = (
        f"'{newest.name}' is there already, but it runs {NEWEST}, asked for is v1.35.1; "
        "`dra-fleet rehearse down --remove` deletes it with all clusters and stacks of this rehearsal"
    )
    hardware: dict[str, Any] = {"kubernetes": NEWEST, "nodes": []}
    with pytest.raises(SimulatorAnswerError, match=message) as refused:
        rehearsal_simulator.client.create_cluster(newest.name, version="v1.35.1", hardware=hardware)
    assert refused.value.status == 409
