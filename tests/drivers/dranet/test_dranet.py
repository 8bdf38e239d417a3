from typing import Any

import pytest

from dra_fleet import drivers
from dra_fleet.drivers.common.parameters import check_parameters
from dra_fleet.drivers.dranet.driver import DRIVER
from dra_fleet.drivers.dranet.simulation.node_side import DranetPlugin
from dra_fleet.drivers.installed import Installed
from dra_fleet.model.specs import PCIE_ROOT
from dra_fleet.rehearsal.drivers import plugins_of
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from tests.proof.proof_helpers import fleet, plan_of, pool, proved

MACHINE = {"cpus": 64, "memory": 256}
CARD = {"driver": "dra.net", "name": "card", "count": 2, "attributes": {"rdma": True, "numaNode": 0}}
RDMA = {"cel": ["device.driver == 'dra.net' && device.attributes['dra.net'].rdma"]}
ROUTE = {"destination": "10.80.0.0/16", "gateway": "10.80.0.254"}
CONTAINER = {"name": "dranet", "image": "dranet:v1.4.0", "args": ["/dranet", "--v=4"]}


def stack(*devices: dict[str, Any], copies: int = 2) -> dict[str, Any]:
    return fleet(
        {"cards": pool(MACHINE, "cards", devices=list(devices)), "others": pool(MACHINE, "others")},
        drivers={"dranet": {"version": "1.4.0"}},
        classes={"rdma": RDMA},
        claims={"one": {"requests": {"card": {"class": "rdma"}}}},
        workloads={"smoke": ("one", copies)},
    )


def output(parameters: dict[str, Any]) -> list[tuple[str, str]]:
    running = Installed(driver=DRIVER, version=DRIVER.facts.versions[-1], values={})
    return [(refusal.path, refusal.what) for refusal in check_parameters("dra.net", parameters, running)]


def test_one_driver_publishes_network_cards_of_every_vendor() -> None:
    assert drivers.publishing("dra.net") is drivers.of_class("efa.networking.k8s.aws") is DRIVER
    assert [version.chart for version in DRIVER.facts.versions] == [
        "aws-dranet",
        "oci://registry.k8s.io/networking/charts/dranet",
    ]


@pytest.mark.parametrize(("copies", "word"), [(2, "guaranteed"), (3, "never")])
def test_described_cards_are_proved_and_the_plugin_runs_on_no_other_pool(copies: int, word: str) -> None:
    (found,) = proved(stack(CARD, copies=copies)).workloads
    assert found.word == word


def test_its_plugin_runs_on_the_pools_whose_cards_are_described() -> None:
    (release,) = plan_of(stack(CARD)).clusters[0].releases
    terms = release.values["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "example.com/pool", "operator": "In", "values": ["cards"]}]}
    ]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"interface": {"name": "net0", "mtu": 9000, "addresses": ["10.80.0.1/24", "fd00::1/64"]}},
        {"interface": {"dhcp": True}, "routes": [ROUTE, {"destination": "10.0.0.0/8", "scope": 253}]},
        {"ethtool": {"features": {"rx-checksum": True}}},
        {"neighbors": [{"destination": "10.80.0.9", "hardwareAddr": "02:00:00:00:00:01"}]},
        {"interface": {"vrf": {"name": "blue", "table": 100}}, "routes": []},
    ],
)
def test_parameters_that_it_decodes_are_in_order(parameters: dict[str, Any]) -> None:
    assert output(parameters) == []


STRICT = "is not a field of NetworkConfig; the driver would refuse to prepare the device"


@pytest.mark.parametrize(
    ("parameters", "path", "what"),
    [
        ({"kind": "NetworkConfig"}, "kind", STRICT),
        ({"interface": {"nam": "net0"}}, "interface.nam", STRICT),
        ({"routes": [ROUTE, {**ROUTE, "via": "x"}]}, "routes[1].via", STRICT),
        ({"interface": {"mtu": 60}}, "interface.mtu", "must be at least 68"),
        (
            {"interface": {"name": "a-name-that-is-too-long"}},
            "interface.name",
            "must be an interface's name of at most 15 letters, digits, '-', '_' and '.'",
        ),
        (
            {"interface": {"addresses": ["10.80.0.1/24", "10.80.0.300"]}},
            "interface.addresses[1]",
            "must be an address with its prefix, such as 10.0.0.0/8",
        ),
        ({"interface": {"addresses": "10.80.0.1/24"}}, "interface.addresses", "must be a list"),
        (
            {"interface": {"dhcp": True, "addresses": ["10.80.0.1/24"]}},
            "interface.dhcp",
            "is rejected beside interface.addresses",
        ),
        ({"routes": [{"destination": "10.0.0.0/8"}]}, "routes[0].gateway", "is required"),
        ({"routes": [{"gateway": "10.0.0.1"}]}, "routes[0].destination", "is required"),
        ({"routes": [{**ROUTE, "scope": 7}]}, "routes[0].scope", "is rejected by the driver"),
        ({"routes": ["10.0.0.0/8"]}, "routes[0]", "must be a mapping"),
        (
            {"interface": {"vrf": {"name": "blue"}}, "rules": [{"priority": 1}]},
            "interface.vrf.name",
            "is rejected beside rules",
        ),
        (
            {"neighbors": [{"destination": "10.80.0.9", "hardwareAddr": "02:00"}]},
            "neighbors[0].hardwareAddr",
            "must be a MAC address",
        ),
        ({"ethtool": {"features": "on"}}, "ethtool.features", "must be a mapping of names to true or false"),
    ],
)
def test_reports_parameters_that_it_rejects_by_place(
    parameters: dict[str, Any], path: str, what: str
) -> None:
    assert (path, what) in output(parameters)


def test_the_simulated_plugin_refuses_what_is_wrong_and_prepares_the_rest() -> None:
    (plugin,) = plugins_of({"spec": {"containers": [CONTAINER]}})
    config = {"opaque": {"driver": "dra.net", "parameters": {"interface": {"mtu": 60}}}}
    results = [{"driver": "dra.net", "device": "card-0", "request": "card"}]
    allocated = {"devices": {"results": results, "config": [config]}}
    claim = {"status": {"allocation": allocated}}
    published = {"card-0": {"name": "card-0"}}
    with pytest.raises(PrepareFailed, match=r"^interface\.mtu must be at least 68$"):
        plugin.prepare(claim, published)
    config["opaque"]["parameters"] = {"interface": {"mtu": 9000}}
    plugin.prepare(claim, published)


PROFILE = {"gke.networks.io/accelerator-network-profile": "auto"}


@pytest.mark.parametrize(("labels", "rdma"), [(PROFILE, 8), ({}, 0)])
def test_each_rdma_card_is_near_one_gpu_and_the_uplink_is_no_device(
    labels: dict[str, str], rdma: int
) -> None:
    node = {"name": "n1", "machine": "a3-ultragpu-8g", "nvidia": {"driverVersion": "580.1"}, "labels": labels}
    host = ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [node]}).hosts()[0]
    plugin = DranetPlugin({"name": "dranet", "image": "dranet:v1", "args": ["/dranet"]})
    devices = [device["attributes"] for device in plugin.devices(host)]
    near = [one[PCIE_ROOT]["string"] for one in devices if one["dra.net/rdma"]["bool"]]
    assert len(near) == rdma
    assert near == list(host.pcie_roots)[:rdma]
    assert sum(not one["dra.net/rdma"]["bool"] for one in devices) == (1 if rdma else 0)
