from typing import Any

import pytest

from dra_fleet import clouds, drivers
from dra_fleet.drivers.amd.driver import DRIVER, amd_devices, gpus_of, models
from dra_fleet.drivers.amd.simulation.node_side import AmdPlugin
from dra_fleet.fleet import SettingsInvalid
from dra_fleet.rehearsal.drivers import plugins_of, waits_for
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed
from dra_fleet.rehearsal.simulator.node import Host
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool, proved

OWN = "oam-mi300x-8"
VIRTUAL = "Standard_ND96isr_MI300X_v5"
TAINT = {"key": "amd.com/gpu", "effect": "NoSchedule"}
INIT = {
    "name": "driver-init",
    "image": "busybox",
    "command": ["sh", "-c", "while [ ! -d /sys/module/amdgpu/drivers/ ]; do sleep 2; done"],
}
PLUGIN = {
    "name": "plugin",
    "image": "docker.io/rocm/k8s-gpu-dra-driver:v1.0.0",
    "command": ["gpu-kubeletplugin"],
}


def stack(machine: str, asked: dict[str, Any], copies: int = 1, **driver: Any) -> dict[str, Any]:
    return fleet(
        {"amd": {**pool(machine, "amd"), "taints": [TAINT]}, "other": pool(gpus(2), "other")},
        drivers={"amd": {"version": "v1.0.0", **driver}},
        classes={"amd": {"driver": "amd", **asked}},
        claims={"one": {"requests": {"gpu": {"class": "amd"}}}},
        workloads={"smoke": ("one", copies)},
    )


def host(machine: str) -> Host:
    return Host(name="n", labels={}, taints=(), cpu="8", memory="8Gi", machine=clouds.machines()[machine])


def test_its_plugin_runs_only_on_the_pools_with_its_gpus_and_tolerates_their_taints() -> None:
    (cluster,) = plan_of(stack(OWN, {"type": "amdgpu"})).clusters
    (release,) = cluster.releases
    assert (release.name, release.version) == ("k8s-gpu-dra-driver", "v1.0.0")
    placed = release.values["kubeletPlugin"]
    (term,) = placed["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    (served,) = (one for one in cluster.pools if one.name == "amd")
    assert {item["key"]: item["values"] for item in term["matchExpressions"]} == {
        key: [value] for key, value in served.labels.items()
    }
    assert placed["tolerations"] == [{**TAINT, "operator": "Equal", "value": ""}]


@pytest.mark.parametrize(("copies", "word"), [(8, "guaranteed"), (9, "never")])
@pytest.mark.parametrize(
    "asked",
    [
        {"type": "amdgpu"},
        {"type": "amdgpu", "product": "AMD_Instinct_MI300X_OAM"},
        {"type": "amdgpu", "memory": {"min": "190Gi"}},
    ],
)
def test_eight_gpus_of_a_machine_of_one_s_own_are_counted(
    asked: dict[str, Any], copies: int, word: str
) -> None:
    (found,) = proved(stack(OWN, asked, copies)).workloads
    assert found.word == word


@pytest.mark.parametrize(
    ("asked", "word"), [({"type": "amdgpu"}, "guaranteed"), ({"memory": {"min": "190Gi"}}, "unknown")]
)
def test_values_of_virtual_functions_are_not_guessed(asked: dict[str, Any], word: str) -> None:
    (found,) = proved(stack(VIRTUAL, asked)).workloads
    assert found.word == word


def test_it_is_refused_where_no_machine_has_its_gpus() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        plan_of(fleet({"other": pool(gpus(2), "other")}, drivers={"amd": {"version": "v1.0.0"}}))
    assert [error.what for error in invalid.value.errors] == [
        "serves AMD GPUs, which no machine of this cluster has"
    ]


def test_a_value_that_its_chart_does_not_have_is_refused() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        plan_of(stack(OWN, {"type": "amdgpu"}, values={"deviceClass": {"created": False}}))
    assert [error.path for error in invalid.value.errors] == [
        "dra-fleet:fleet.clusters.lab.drivers.amd.values.deviceClass.created"
    ]


def test_the_classes_of_other_drivers_never_take_its_gpus() -> None:
    request = {"selectors": ["device.driver == 'gpu.nvidia.com'"]}
    (found,) = proved(
        {
            **stack(OWN, {"type": "amdgpu"}),
            "claims": {"one": {"requests": {"gpu": {"class": "gpu.amd.com", **request}}}},
        }
    ).workloads
    assert found.word == "never"


def test_each_machine_s_model_is_known_and_published_with_the_attributes_of_the_facts() -> None:
    rows = [found for machine in clouds.machines().values() if (found := gpus_of(machine)) is not None]
    assert rows
    always = {item.name for item in DRIVER.facts.attributes if "amdgpu" in item.always}
    for found in rows:
        assert found.model in models()
        for device in amd_devices(found):
            assert set(device.attributes) == always
            assert set(device.capacity) == {item.name for item in DRIVER.facts.capacities}


def test_the_simulated_plugin_publishes_what_was_predicted() -> None:
    (plugin,) = plugins_of({"spec": {"containers": [PLUGIN]}})
    assert isinstance(plugin, AmdPlugin)
    published = plugin.devices(host(OWN))
    assert [item["name"] for item in published] == [f"gpu-{index}-{128 + index}" for index in range(8)]
    assert published[0]["capacity"]["memory"] == {"value": "196592Mi"}
    assert plugin.devices(host("pcie-t4-1")) == []


@pytest.mark.parametrize(("machine", "output"), [(OWN, None), ("pcie-t4-1", "amdgpu driver is not loaded")])
def test_its_init_container_waits_where_there_is_no_amd_gpu(machine: str, output: str | None) -> None:
    assert waits_for(INIT, host(machine)) == output


def test_a_machine_with_its_gpus_is_shown_separately_from_one_without() -> None:
    assert drivers.named("amd") is DRIVER
    assert DRIVER.serves(clouds.machines()[OWN])
    assert not DRIVER.serves(clouds.machines()["pcie-t4-1"])


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        (
            {"kind": "GpuConfig", "sharing": {}},
            "is not a field of GpuConfig; the driver would refuse to prepare the device",
        ),
        ({"kind": "GPUConfig"}, "is not a kind that driver gpu.amd.com decodes"),
    ],
)
def test_its_parameters_have_no_fields_and_are_decoded_strictly(
    parameters: dict[str, Any], what: str
) -> None:
    written = {"apiVersion": "gpu.resource.amd.com/v1alpha1", **parameters}
    claims = {
        "one": {
            "requests": {"gpu": {"class": "gpu.amd.com"}},
            "config": [{"opaque": {"driver": "gpu.amd.com", "parameters": written}}],
        }
    }
    (failure,) = proved({**stack(OWN, {"type": "amdgpu"}), "claims": claims}).failures
    assert f": on cluster lab: {what}" in failure
    (plugin,) = plugins_of({"spec": {"containers": [PLUGIN]}})
    config = [{"opaque": {"driver": "gpu.amd.com", "parameters": written}}]
    results = [{"driver": "gpu.amd.com", "device": "gpu-0-128", "request": "gpu"}]
    claim = {"status": {"allocation": {"devices": {"results": results, "config": config}}}}
    with pytest.raises(PrepareFailed, match=what):
        plugin.prepare(claim, {"gpu-0-128": {}})
