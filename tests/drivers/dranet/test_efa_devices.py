from typing import Any

import pytest

from dra_fleet.drivers.common.selectors import selector
from dra_fleet.drivers.dranet.driver import DRIVER as EFA
from dra_fleet.drivers.dranet.driver import NAME as DRIVER
from dra_fleet.drivers.dranet.driver import PRODUCT, efa_devices
from dra_fleet.drivers.dranet.simulation.node_side import DranetPlugin
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.kubernetes.cel import environment
from dra_fleet.model.classes import IntentClass
from dra_fleet.model.specs import PCIE_ROOT
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from tests.clouds.eks.eks_fleets import cluster, pool, ultra

CLASS = "efa.networking.k8s.aws"


def claimed(**claim: Any) -> dict[str, Any]:
    fleet = ultra()
    pool(fleet)["nodes"] = {"min": 2, "max": 2}
    cluster(fleet)["drivers"]["dranet"] = {"version": "1.0.0"}
    fleet["claims"] = {"node": claim}
    fleet["workloads"] = {"job": {"cluster": "train", "claim": "node", "copies": 2}}
    return fleet


def test_each_card_is_a_device_that_the_class_matches() -> None:
    devices = [device.to_object() for device in efa_devices(cards=3, roots=())]
    assert len({device["name"] for device in devices}) == 3
    expression = EFA.facts.class_selectors[CLASS]
    program = environment("1.35").compile(expression)
    assert program is not None
    assert {device["attributes"]["dra.net/pciDevice"]["string"] for device in devices} == {
        "Elastic Fabric Adapter (EFA)"
    }


def test_all_cards_of_a_machine_with_efa_are_proved() -> None:
    (workload,) = prove(
        make_plan(parse(claimed(requests={"cards": {"class": CLASS, "count": 16}})))
    ).workloads
    assert workload.word == "guaranteed"
    fleet = claimed(requests={"cards": {"class": CLASS, "count": 17}})
    assert [item.word for item in prove(make_plan(parse(fleet))).workloads] == ["never"]


def test_a_pool_without_efa_publishes_no_card() -> None:
    fleet = claimed(requests={"cards": {"class": CLASS}})
    pool(fleet)["efa"] = False
    assert [item.word for item in prove(make_plan(parse(fleet))).workloads] == ["never"]


def test_the_distance_of_a_card_and_a_gpu_is_unknown_before_the_machine_runs() -> None:
    requests = {"gpu": {"class": "gpu.nvidia.com"}, "card": {"class": CLASS}}
    fleet = claimed(requests=requests, constraints=[{"matchAttribute": PCIE_ROOT}])
    assert [item.word for item in prove(make_plan(parse(fleet))).workloads] == ["unknown"]


@pytest.mark.parametrize("nics", [0, 4])
def test_the_simulated_driver_publishes_the_cards_of_its_machine_near_its_gpus(nics: int) -> None:
    node = {"name": "n1", "gpus": {"model": "H100-SXM5-80GB", "count": 2}, "nics": nics}
    host = ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [node]}).hosts()[0]
    plugin = DranetPlugin({"name": "dranet", "image": "dranet:v1", "args": ["/dranet"]})
    roots = [device["attributes"][PCIE_ROOT]["string"] for device in plugin.devices(host)]
    first, second = host.pcie_roots
    assert roots == ([first, first, second, second] if nics else [])
    assert plugin.driver == DRIVER


def test_another_cloud_has_no_such_cards() -> None:
    fleet = {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            "studio": {
                "cloud": "aks",
                "region": "westeurope",
                "create": {"resourceGroup": "studio"},
                "access": {"authorizedRanges": ["203.0.113.0/24"]},
                "drivers": {"dranet": {"version": "1.0.0"}},
                "pools": {"a": {"machine": "Standard_NV6ads_A10_v5", "nodes": {"min": 1, "max": 1}}},
            }
        },
    }
    with pytest.raises(
        SettingsInvalid, match="serves the EFA network cards of AWS, which no machine of this"
    ):
        make_plan(parse(fleet))


def test_network_cards_that_someone_else_s_driver_publishes_are_not_called_absent() -> None:
    fleet = claimed(requests={"card": {"class": "any-card"}})
    fleet["classes"] = {"any-card": {"cel": ["device.driver == 'dra.net'"]}}
    del cluster(fleet)["drivers"]["dranet"]
    (workload,) = prove(make_plan(parse(fleet))).workloads
    assert workload.word == "unknown"
    assert "what driver dra.net publishes cannot be predicted" in workload.reason


def test_a_class_of_network_cards_asks_for_the_product_and_not_for_the_link_s_type() -> None:
    requested = IntentClass.model_validate({"driver": "dranet", "type": "nic", "product": PRODUCT})
    expression, problems = selector(requested, EFA)
    assert expression == (
        "device.driver == 'dra.net' && device.attributes['dra.net'].pciDevice == "
        "'Elastic Fabric Adapter (EFA)'"
    )
    assert problems == []
