import asyncio
from typing import Any, cast

import pytest

from dra_fleet.clusters.client import ApiError, KubeApi, Object
from dra_fleet.drivers.nvidia.simulation import compute_domains
from dra_fleet.drivers.nvidia.simulation.compute_domain import ComputeDomainPlugin
from dra_fleet.drivers.nvidia.simulation.compute_domains import (
    CONTROLLER,
    DAEMON,
    DOMAIN,
    TARGET,
    Controller,
    crash_of,
    runs,
)
from dra_fleet.rehearsal.drivers.plugin import AtWork, PrepareFailed, StartFailed
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from dra_fleet.rehearsal.simulator.node import Host
from tests.rehearsal.agent.fake_api import FakeApi

API = "resource.nvidia.com/v1beta1"
UID = "4c0eefb0-b96a-4aa9-ac7f-468303cca798"
FABRIC = "b53573a6-ef7a-42a1-bc70-9ea19e244475.1"
CLIQUE = f"{UID}.{FABRIC}"
GONE = {"deletionTimestamp": "2026-11-21T12:00:00Z"}


def domain(**meta: Any) -> Object:
    return {
        "apiVersion": API,
        "kind": "ComputeDomain",
        "metadata": {"name": "pretrain", "namespace": "ml", "uid": UID, **meta},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "pretrain-channel"}}},
    }


def node(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def daemon(name: str) -> Object:
    return {
        "metadata": {
            "name": f"d-{name}",
            "uid": f"pod-{name}",
            "namespace": "nvidia",
            "labels": {DOMAIN: UID},
        },
        "spec": {"nodeName": name, "containers": [{"name": "d", "command": [DAEMON, "run"]}]},
        "status": {"podIP": "10.0.0.9"},
    }


def host(clique: str | None = FABRIC, driver: str = "580.126.09") -> Host:
    entry = {"name": "n1", "nvidia": {"driverVersion": driver}, "clique": clique}
    return ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [entry]}).hosts()[0]


def reconcile(api: FakeApi, **changed: Any) -> bool:
    given: dict[str, Any] = {
        "image": "driver:v0.5.0",
        "gates": "",
        "has_cliques": True,
        "has_daemons": True,
        **changed,
    }
    return asyncio.run(Controller(api=cast("KubeApi", api), namespace="nvidia", **given).reconcile())


def join(api: FakeApi, name: str, clique: str = FABRIC, *, by_clique: bool = True) -> bool:
    work = compute_domains.join(cast("KubeApi", api), daemon(name), clique, by_clique=by_clique)
    return asyncio.run(work)


def plugin(**env: str) -> ComputeDomainPlugin:
    return ComputeDomainPlugin(
        {
            "name": "compute-domains",
            "image": "driver:v0.5.0",
            "env": [{"name": key, "value": value} for key, value in env.items()],
        }
    )


def claim(parameters: Object | None, *, namespace: str = "ml", device: str = "channel-0") -> Object:
    opaque = {"driver": "compute-domain.nvidia.com", "parameters": {"apiVersion": API, **(parameters or {})}}
    results = [{"driver": "compute-domain.nvidia.com", "device": device, "request": "channel"}]
    config = [{"requests": ["channel"], "opaque": opaque}] if parameters is not None else []
    return {
        "metadata": {"name": "c", "namespace": namespace, "uid": "1"},
        "status": {"allocation": {"devices": {"results": results, "config": config}}},
    }


def channel(**more: Any) -> Object:
    return {"kind": "ComputeDomainChannelConfig", "domainID": UID, "allocationMode": "Single", **more}


def published(made: ComputeDomainPlugin) -> dict[str, Object]:
    return {device["name"]: device for device in made.devices(host())}


def settle(api: FakeApi, asked: Object, on: Host) -> None:
    at = AtWork(api=cast("KubeApi", api), namespace="nvidia", host=on)
    asyncio.run(plugin().settle(at, asked))


def test_the_parts_are_known_by_what_they_run() -> None:
    assert runs(daemon("n1"), DAEMON)
    assert not runs(daemon("n1"), CONTROLLER)


def test_the_controller_makes_daemons_for_labelled_nodes_and_the_template_that_was_named() -> None:
    api = FakeApi(domain())
    assert reconcile(api)
    made = f"computedomain-daemon-{UID}"
    daemons = api.objects["DaemonSet", made]["spec"]["template"]["spec"]
    assert daemons["nodeSelector"] == {DOMAIN: UID}
    assert daemons["resourceClaims"] == [{"name": DAEMON, "resourceClaimTemplateName": made}]
    template = api.objects["ResourceClaimTemplate", "pretrain-channel"]
    assert template["metadata"]["namespace"] == "ml"
    assert template["metadata"]["labels"] == {DOMAIN: UID, TARGET: "Workload"}
    (config,) = template["spec"]["spec"]["devices"]["config"]
    assert config["opaque"]["parameters"] == {"apiVersion": API, **channel()}
    assert api.objects["ComputeDomain", "pretrain"]["metadata"]["finalizers"] == [DOMAIN]


def test_a_second_look_changes_nothing() -> None:
    api = FakeApi(domain())
    reconcile(api)
    api.writes.clear()
    reconcile(api)
    assert api.writes == []


def test_a_template_of_someone_else_is_not_taken_over() -> None:
    other = {"kind": "ResourceClaimTemplate", "metadata": {"name": "pretrain-channel", "namespace": "ml"}}
    with pytest.raises(ApiError, match="error creating ResourceClaimTemplate 'ml/pretrain-channel'"):
        reconcile(FakeApi(domain(), other))


def test_with_the_host_s_own_daemon_there_are_none_of_the_driver() -> None:
    api = FakeApi(domain())
    reconcile(api, has_daemons=False)
    assert not any(kind == "DaemonSet" for kind, _ in api.objects)
    assert api.objects["ComputeDomain", "pretrain"]["status"] == {"status": "Ready"}


def test_daemons_of_one_fabric_enter_its_clique_with_different_numbers() -> None:
    api = FakeApi(domain())
    assert join(api, "n1")
    assert join(api, "n2")
    assert not join(api, "n1")
    daemons = api.objects["ComputeDomainClique", CLIQUE]["daemons"]
    assert [(item["nodeName"], item["index"], item["status"]) for item in daemons] == [
        ("n1", 0, "Ready"),
        ("n2", 1, "Ready"),
    ]
    owners = api.objects["ComputeDomainClique", CLIQUE]["metadata"]["ownerReferences"]
    assert [item["uid"] for item in owners] == ["pod-n1", "pod-n2"]


def test_a_number_that_became_free_is_given_again() -> None:
    api = FakeApi(domain())
    join(api, "n1")
    join(api, "n2")
    asyncio.run(compute_domains.leave(cast("KubeApi", api), daemon("n1"), FABRIC, by_clique=True))
    join(api, "n3")
    daemons = api.objects["ComputeDomainClique", CLIQUE]["daemons"]
    assert {item["nodeName"]: item["index"] for item in daemons} == {"n2": 1, "n3": 0}


@pytest.mark.parametrize(("clique", "by_clique"), [("", True), (FABRIC, False)])
def test_without_cliques_the_domain_s_status_reports_who_is_there(clique: str, by_clique: bool) -> None:
    api = FakeApi(domain())
    assert join(api, "n1", clique, by_clique=by_clique)
    assert not join(api, "n1", clique, by_clique=by_clique)
    (entry,) = api.objects["ComputeDomain", "pretrain"]["status"]["nodes"]
    assert (entry["name"], entry["cliqueID"], entry["status"]) == ("n1", clique, "Ready")
    asyncio.run(compute_domains.leave(cast("KubeApi", api), daemon("n1"), clique, by_clique=by_clique))
    assert api.objects["ComputeDomain", "pretrain"]["status"]["nodes"] == []


def test_the_controller_reports_the_domain_who_is_in_its_cliques() -> None:
    api = FakeApi(domain())
    join(api, "n1")
    reconcile(api)
    status = api.objects["ComputeDomain", "pretrain"]["status"]
    assert (status["status"], [item["name"] for item in status["nodes"]]) == ("Ready", ["n1"])


def test_a_domain_that_counts_its_nodes_is_ready_when_all_are_there() -> None:
    counted = domain()
    counted["spec"]["numNodes"] = 2
    api = FakeApi(counted)
    join(api, "n1")
    reconcile(api)
    assert api.objects["ComputeDomain", "pretrain"]["status"]["status"] == "NotReady"
    join(api, "n2")
    reconcile(api)
    assert api.objects["ComputeDomain", "pretrain"]["status"]["status"] == "Ready"


def test_a_deleted_domain_is_removed_after_its_objects() -> None:
    api = FakeApi(domain(), node("n1", **{DOMAIN: UID, "keep": "me"}))
    reconcile(api)
    api.objects["ComputeDomain", "pretrain"]["metadata"] |= GONE
    assert not reconcile(api)
    assert ("ComputeDomain", "pretrain") in api.objects
    assert reconcile(api)
    assert list(api.objects) == [("Node", "n1")]
    assert api.objects["Node", "n1"]["metadata"]["labels"] == {"keep": "me"}


def test_a_channel_waits_for_the_daemon_that_its_label_starts() -> None:
    api = FakeApi(domain(), node("n1"))
    with pytest.raises(PrepareFailed) as waiting:
        settle(api, claim(channel()), host())
    assert str(waiting.value) == (
        "error preparing devices for claim ml/c:1: prepare devices failed: error applying config: "
        "error asserting ComputeDomain Ready: current node not ready in ComputeDomain"
    )
    assert api.objects["Node", "n1"]["metadata"]["labels"] == {DOMAIN: UID}
    join(api, "n1")
    settle(api, claim(channel()), host())


def test_a_channel_on_a_node_of_no_fabric_asks_the_domain_s_status() -> None:
    api = FakeApi(domain(), node("n1"))
    join(api, "n1", "")
    settle(api, claim(channel()), host(clique=None))


def test_an_unprepared_channel_takes_the_label_away() -> None:
    api = FakeApi(domain(), node("n1", **{DOMAIN: UID}))
    at = AtWork(api=cast("KubeApi", api), namespace="nvidia", host=host())
    asyncio.run(
        plugin().release(at, claim({"kind": "ComputeDomainDaemonConfig", "domainID": UID}, device="daemon-0"))
    )
    assert api.objects["Node", "n1"]["metadata"]["labels"] == {DOMAIN: UID}
    asyncio.run(plugin().release(at, claim(channel())))
    assert api.objects["Node", "n1"]["metadata"]["labels"] == {}


@pytest.mark.parametrize(
    ("asked", "labels", "text"),
    [
        (claim(channel(domainID="other")), {}, "ComputeDomain not found: other"),
        (
            claim(channel(), namespace="elsewhere"),
            {},
            "the ResourceClaim's namespace is different than the ComputeDomain's namespace",
        ),
        (claim(channel()), {DOMAIN: "other"}, "label already exists for a different ComputeDomain"),
        (
            claim({"kind": "ComputeDomainDaemonConfig", "domainID": "other"}, device="daemon-0"),
            {},
            "compute domain not found: other",
        ),
    ],
)
def test_a_claim_that_cannot_be_in_its_domain_is_reported_with_the_reason(
    asked: Object, labels: dict[str, str], text: str
) -> None:
    with pytest.raises(PrepareFailed, match=text):
        settle(FakeApi(domain(), node("n1", **labels)), asked, host())


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (claim(None), "error validating config: domainID cannot be empty"),
        (claim(channel(domainId=UID)), 'strict decoding error: unknown field "domainId"'),
        (claim({"kind": "GpuConfig"}), "failed: runtime object is not a recognized configuration"),
        (
            claim({"kind": "GPUConfig"}),
            "failed: error generating configResultsMap: error getting opaque device configs: error decoding",
        ),
        (claim(channel(), device="daemon-0"), "cannot apply ComputeDomainChannelConfig to request: channel"),
        (claim(channel(), device="channel-9"), "requested device is not allocatable: channel-9"),
    ],
)
def test_wrong_configuration_of_a_channel_is_reported_when_it_is_prepared(asked: Object, text: str) -> None:
    made = plugin()
    with pytest.raises(PrepareFailed, match=text):
        made.prepare(asked, published(made))


def test_a_good_channel_is_prepared() -> None:
    made = plugin()
    made.prepare(claim(channel()), published(made))


@pytest.mark.parametrize(
    ("output", "clique", "labels"),
    [("true", FABRIC, {"nvidia.com/gpu.clique": FABRIC}), ("true", None, {}), ("false", FABRIC, {})],
)
def test_the_fabric_s_label_is_set_where_it_was_asked_for(
    output: str, clique: str | None, labels: dict[str, str]
) -> None:
    assert plugin(GPU_CLIQUE_LABEL_ENABLED=output).node_labels(host(clique)) == labels


def test_the_host_s_own_imex_daemon_is_not_simulated() -> None:
    with pytest.raises(StartFailed, match=r"imex\.mode hostManaged .* is not simulated"):
        plugin(IMEX_MODE="hostManaged").devices(host())


@pytest.mark.parametrize(
    ("binary", "gates", "problem"),
    [
        (CONTROLLER, "", None),
        (CONTROLLER, "IMEXDaemonsWithDNSNames=false,ComputeDomainCliques=false,", None),
        (
            CONTROLLER,
            "IMEXDaemonsWithDNSNames=false,",
            "feature gate ComputeDomainCliques requires IMEXDaemonsWithDNSNames to also be enabled",
        ),
        (DAEMON, "Nonsense=true,", "unrecognized feature gate: Nonsense"),
        ("sleep", "Nonsense=true,", None),
    ],
)
def test_gates_that_the_driver_refuses_crash_its_other_pods_too(
    binary: str, gates: str, problem: str | None
) -> None:
    container = {
        "name": "main",
        "image": "driver:v0.5.0",
        "command": [binary],
        "env": [{"name": "FEATURE_GATES", "value": gates}] if gates else [],
    }
    output = crash_of({"spec": {"containers": [container]}})
    assert (output is None) == (problem is None)
    assert (problem or "") in (output or "")
