import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from dra_fleet.check import ManifestFile, check
from dra_fleet.drivers.nvidia.simulation.hardware import with_changed
from dra_fleet.drivers.nvidia.simulation.operator import daemons
from dra_fleet.drivers.nvidia.simulation.operator.daemons import PluginConfigInvalid, selected, shared
from dra_fleet.drivers.nvidia.simulation.operator.features import gpu_labels
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role, extended_resources
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import ClusterPlan
from tests.fleet.plan.plan_helpers import refused
from tests.rehearsal.agent.fake_api import FakeApi
from tests.rehearsal.agent.gpu_operator.operator_objects import host, pod_of, read_policy

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi

SLICED = {"strategy": "time-slicing", "replicas": 4}
MPS = {"strategy": "mps", "replicas": 3}
LABEL = "nvidia.com/device-plugin.config"


def fleet(environment: str = "development", **pool: Any) -> dict[str, Any]:
    pools = {
        "slices": {"machine": "Standard_NC24ads_A100_v4", "nodes": {"min": 1, "max": 1}, "sharing": SLICED},
        "shared": {"machine": "Standard_NC24ads_A100_v4", "nodes": {"min": 1, "max": 1}, "sharing": MPS},
        "whole": {"machine": "Standard_NC24ads_A100_v4", "nodes": {"min": 1, "max": 1}},
    }
    return {
        "owner": "ml-platform",
        "environment": environment,
        "kubernetes": "1.36",
        "clusters": {
            "studio": {
                "cloud": "aks",
                "subscription": "00000000-0000-0000-0000-000000000000",
                "region": "eastus",
                "create": {"resourceGroup": "studio"},
                "access": {"authorizedRanges": ["203.0.113.0/24"]},
                "gpuOperator": {"version": "v25.10.0"},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {
                    name: {**item, "advertise": "device-plugin", **pool} for name, item in pools.items()
                },
            }
        },
    }


def planned(settings: dict[str, Any]) -> ClusterPlan:
    [cluster] = make_plan(parse(settings)).clusters
    return cluster


def operator_values() -> dict[str, Any]:
    [values] = [item.values for item in planned(fleet()).releases if item.name == "gpu-operator"]
    return dict(values)


def test_the_program_makes_the_config_map_of_the_device_plugin() -> None:
    config = operator_values()["devicePlugin"]["config"]
    assert (config["create"], config["name"], config["default"]) == (True, "dra-fleet-device-plugin", "")
    assert {name: yaml.safe_load(text)["sharing"] for name, text in config["data"].items()} == {
        "time-slicing-4": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}},
        "mps-3": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 3}]}},
    }


def test_the_label_of_a_pool_selects_its_entry() -> None:
    found = {pool.name: pool.labels.get(LABEL) for pool in planned(fleet()).pools}
    assert {name: found[name] for name in ("slices", "shared", "whole")} == {
        "slices": "time-slicing-4",
        "shared": "mps-3",
        "whole": None,
    }


@pytest.mark.parametrize(("pool", "most"), [("slices", 4), ("shared", 3), ("whole", 1)])
def test_a_pod_finds_as_many_gpus_as_replicas(pool: str, most: int) -> None:
    settings = fleet()
    pools = settings["clusters"]["studio"]["pools"]
    for name in {"slices", "shared", "whole"} - {pool}:
        del pools[name]
    plan = make_plan(parse(settings))
    for count, rules in ((most, []), (most + 1, ["not-enough-devices"])):
        text = (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
            f"  containers: [{{name: c, image: i, resources: {{limits: {{nvidia.com/gpu: {count}}}}}}}]\n"
        )
        found = check(plan, [ManifestFile(name="p.yaml", data=text.encode())]).findings
        assert [item.rule for item in found] == rules


def test_replicas_require_the_device_plugin_of_the_operator() -> None:
    for change, text in (
        ({"advertise": "dra"}, "is done by the device plugin, not by the DRA driver"),
        ({}, "requires the device plugin of the GPU Operator, which the cluster does not install"),
    ):
        settings = fleet(**change)
        if not change:
            del settings["clusters"]["studio"]["gpuOperator"]
        errors = refused(settings)
        assert text in errors["clusters.studio.pools.slices.sharing"]


def test_production_requires_a_reason_for_sharing_without_isolation() -> None:
    errors = refused(fleet("production"))
    error = errors["clusters.studio.pools.slices.sharing"]
    assert "time-slicing, which isolates neither memory nor faults" in error
    settings = fleet("production")
    for pool in settings["clusters"]["studio"]["pools"].values():
        if "sharing" in pool:
            pool["sharing"] = {**pool["sharing"], "accept": {"isolation": "experiments of one team"}}
    assert planned(settings).name == "studio"
    warnings = make_plan(parse(fleet())).warnings
    assert "pool shared shares GPUs by mps, which isolates neither memory nor faults" in warnings


@pytest.mark.parametrize("strategy", ["time-slicing", "mps"])
def test_a_rehearsed_node_advertises_and_is_labelled_as_the_plugin_shares(strategy: str) -> None:
    pod = pod_of(Role.DEVICE_PLUGIN)
    machine = with_changed(host(count=2, nvidia={"driverVersion": "580.95.05"}), shared=(strategy, 4))
    assert extended_resources(pod, machine) == {"nvidia.com/gpu": "8"}
    labels = gpu_labels(machine, "none")
    assert labels["nvidia.com/gpu.product"].endswith("-SHARED")
    assert labels["nvidia.com/gpu.replicas"] == "4"
    assert labels["nvidia.com/gpu.sharing-strategy"] == strategy
    assert labels["nvidia.com/mps.capable"] == str(strategy == "mps").lower()


def test_a_rehearsed_plugin_reads_the_entry_that_its_node_s_label_selects() -> None:
    data = operator_values()["devicePlugin"]["config"]["data"]
    policy = read_policy(devicePlugin={"config": {"name": "dra-fleet-device-plugin"}})
    pod = pod_of(Role.DEVICE_PLUGIN, now=policy)
    api = cast("KubeApi", FakeApi())
    asyncio.run(api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {}}}))
    with pytest.raises(PluginConfigInvalid, match='configmap "dra-fleet-device-plugin" not found'):
        asyncio.run(selected(pod, api, api))
    meta = {"name": "dra-fleet-device-plugin", "namespace": pod["metadata"]["namespace"]}
    asyncio.run(api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}))
    assert asyncio.run(selected(pod, api, api)) is None
    for entry, found in (("time-slicing-4", ("time-slicing", 4)), ("mps-3", ("mps", 3))):
        asyncio.run(api.merge("v1", "Node", "n1", {"metadata": {"labels": {LABEL: entry}}}))
        assert asyncio.run(selected(pod, api, api)) == found
    asyncio.run(api.merge("v1", "Node", "n1", {"metadata": {"labels": {LABEL: "none"}}}))
    with pytest.raises(PluginConfigInvalid, match="specified config none does not exist"):
        asyncio.run(selected(pod, api, api))


def test_a_configuration_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(PluginConfigInvalid, match="unable to parse the configuration"):
        shared("sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: many}]}}")
    assert daemons.shared("version: v1") is None
