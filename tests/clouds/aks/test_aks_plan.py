import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_fleet.check.inventory import clusters
from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.plan import partitions_of, physical_name
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.mig_config import config_file, config_name
from dra_fleet.fleet import parse, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import ReleasePlan
from tests.clouds.aks.aks_fleets import cluster, mig, pool, values, vgpu
from tests.fleet.plan.plan_helpers import planned
from tests.fleet.plan.tables import Case, table


def releases(fleet: dict[str, Any]) -> dict[str, ReleasePlan]:
    return {release.name: release for release in planned(fleet).clusters[0].releases}


def terms(release: ReleasePlan) -> list[list[dict[str, Any]]]:
    affinity = release.values["kubeletPlugin"]["affinity"]["nodeAffinity"]
    return [
        term["matchExpressions"]
        for term in affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    ]


def test_azure_s_driver_is_at_the_root_of_the_host() -> None:
    found = releases(vgpu())
    assert list(found) == ["dra-driver-nvidia-gpu"]
    assert found["dra-driver-nvidia-gpu"].values["nvidiaDriverRoot"] == "/"
    assert found["dra-driver-nvidia-gpu"].after == ()


def test_the_operator_s_driver_is_below_run_and_is_first() -> None:
    found = releases(mig())
    assert list(found) == ["gpu-operator", "nvidia-dra-driver-gpu"]
    driver, operator = found["nvidia-dra-driver-gpu"], found["gpu-operator"]
    assert driver.values["nvidiaDriverRoot"] == "/run/nvidia/driver"
    assert driver.after == ("gpu-operator",)
    assert operator.values["driver"]["enabled"] is True
    assert operator.values["toolkit"]["enabled"] is True
    assert operator.values["operator"]["runtimeClass"] == "nvidia"
    assert operator.values["devicePlugin"] == {"enabled": False}


def test_an_operator_beside_azure_s_driver_only_makes_partitions() -> None:
    fleet = mig()
    pool(fleet)["gpuDriver"] = "aks"
    found = releases(fleet)["gpu-operator"].values
    assert found["driver"] == {"enabled": False}
    assert found["toolkit"] == {"enabled": False}
    assert found["operator"]["runtimeClass"] == "nvidia-container-runtime"
    assert found["migManager"]["enabled"] is True
    assert releases(fleet)["nvidia-dra-driver-gpu"].values["nvidiaDriverRoot"] == "/"


def test_the_newer_operator_is_kept_from_installing_a_dra_driver() -> None:
    fleet = mig()
    cluster(fleet)["gpuOperator"]["version"] = "v26.7.0"
    found = releases(fleet)["gpu-operator"].values
    assert found["clusterPolicy"] == {"deployCR": True}
    assert found["gpuCluster"] == {"deployCR": False}


def test_on_partitioned_pools_the_plugin_waits_for_the_partitions() -> None:
    whole, cut = terms(releases(mig())["nvidia-dra-driver-gpu"])
    assert {"key": "dra-fleet/pool", "operator": "NotIn", "values": ["gpu"]} in whole
    assert {"key": "dra-fleet/pool", "operator": "In", "values": ["gpu"]} in cut
    assert {"key": "nvidia.com/mig.config.state", "operator": "In", "values": ["success"]} in cut


def test_everything_that_runs_on_a_tainted_pool_tolerates_its_taint() -> None:
    found = releases(mig())
    sku = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    assert sku in found["nvidia-dra-driver-gpu"].values["kubeletPlugin"]["tolerations"]
    assert sku in found["gpu-operator"].values["daemonsets"]["tolerations"]
    assert sku in found["gpu-operator"].values["node-feature-discovery"]["worker"]["tolerations"]


def test_the_operator_s_pods_fit_on_the_system_pool() -> None:
    found = releases(mig())["gpu-operator"].values
    critical = {"key": "CriticalAddonsOnly", "operator": "Exists"}
    assert critical in found["operator"]["tolerations"]
    assert critical in found["node-feature-discovery"]["master"]["tolerations"]


def test_labels_are_the_pool_s_own() -> None:
    labels = planned(mig()).clusters[0].pools[0].labels
    assert labels == {
        "dra-fleet/pool": "gpu",
        "nvidia.com/dra-kubelet-plugin": "true",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/mig.config": "all-1g.10gb",
    }


def test_a_spot_pool_is_tolerated_by_what_runs_on_it() -> None:
    fleet = vgpu()
    pool(fleet)["spot"] = True
    tolerations = releases(fleet)["dra-driver-nvidia-gpu"].values["kubeletPlugin"]["tolerations"]
    assert "kubernetes.azure.com/scalesetpriority" in {item["key"] for item in tolerations}


@pytest.mark.parametrize("version", ["25.8.1", "25.12.0", "0.5.0"])
def test_the_controller_is_put_on_the_system_pool(version: str) -> None:
    fleet = mig()
    cluster(fleet)["drivers"]["nvidia"]["version"] = version
    values(fleet, {"resources": {"computeDomains": {"enabled": True}}})
    found = next(item for name, item in releases(fleet).items() if name != "gpu-operator")
    affinity = found.values["controller"]["affinity"]["nodeAffinity"]
    assert affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "kubernetes.azure.com/mode", "operator": "In", "values": ["system"]}]}
    ]


def test_a_layout_of_our_own_is_written_out_for_the_mig_manager() -> None:
    gpu = nvidia_facts.gpus()["A100-SXM4-80GB"]
    layout = {"3g.40gb": 1, "1g.10gb": 4}
    assert config_name(gpu, layout) == "dra-fleet-4x1g.10gb-1x3g.40gb"
    assert config_name(gpu, {"1g.10gb+me": 1}) == "all-1g.10gb.me"
    assert '"mig-devices": {"1g.10gb": 4, "3g.40gb": 1}' in config_file([(gpu, layout)])


@table(__file__, vgpu, mig)
def test_plan(case: Case) -> None:
    case.verify()


def test_reports_the_isolation_of_each_pool() -> None:
    assert planned(vgpu()).clusters[0].pools[0].isolation.startswith("vGPU, 1/6 of a GPU: memory and faults")
    assert planned(mig()).clusters[0].pools[0].isolation.startswith("MIG partitions: memory and faults")


@pytest.mark.parametrize(
    ("size", "fraction", "gigabytes"),
    [
        ("Standard_NV6ads_A10_v5", "1/6", 4),
        ("Standard_NV12ads_A10_v5", "1/3", 8),
        ("Standard_NV18ads_A10_v5", "1/2", 12),
    ],
)
def test_a_fraction_of_an_a10_is_one_gpu_of_that_part_of_its_memory(
    size: str, fraction: str, gigabytes: int
) -> None:
    machine = CLOUD.machines[size]
    assert (machine.gpus, machine.gpu_fraction) == (1, fraction)
    gpu = nvidia_facts.gpus()[machine.gpu or ""]
    assert (gpu.nominal_gb, gpu.memory_mib, gpu.mig) == (gigabytes, None, None)
    assert machine.price is not None
    assert machine.price.region == "eastus"


LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(LABELS, st.text(max_size=20))
def test_every_pool_gets_a_name_that_azure_takes(name: str, identity: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]{0,11}", physical_name("agentPool", name, identity))


@pytest.mark.slow
@given(st.sets(st.tuples(LABELS, st.sampled_from(["", "a", "b"])), min_size=2, max_size=200))
def test_pools_of_different_names_or_identities_never_meet(pools: set[tuple[str, str]]) -> None:
    assert len({physical_name("agentPool", name, identity) for name, identity in pools}) == len(pools)


def test_names_that_share_their_first_letters_are_distinguished() -> None:
    assert physical_name("agentPool", "training-a") != physical_name("agentPool", "training-b")
    assert physical_name("agentPool", "training-a").startswith("traini")


@pytest.mark.slow
@given(LABELS)
def test_a_dns_prefix_is_short_enough(name: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9-]{0,53}", physical_name("dnsPrefix", name))


EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "aks-managed-mig" / "stack.yaml"


@pytest.mark.parametrize(
    ("values", "resource"),
    [({"mig": {"strategy": "mixed"}}, "nvidia.com/mig-1g.10gb"), ({}, "nvidia.com/gpu")],
)
def test_check_counts_the_partitions_of_an_instance_profile(values: dict[str, object], resource: str) -> None:
    settings = read_stack_file(EXAMPLE).settings.model_dump(by_alias=True, exclude_none=True)
    settings["clusters"]["mnist"]["gpuOperator"]["values"] = values
    (cluster,) = clusters(make_plan(parse(settings)))
    assert cluster.plugin_resources == {resource: {"mig": 56}}


@pytest.mark.parametrize(
    ("gpu", "profile", "partitions"),
    [
        ("A100-SXM4-80GB", "MIG2g", {"2g.20gb": 3}),
        ("A100-SXM4-80GB", "mig7g", {"7g.80gb": 1}),
        ("A10", "MIG1g", {}),
        (None, "MIG1g", {}),
    ],
)
def test_an_instance_profile_fills_each_gpu_with_partitions_of_one_size(
    gpu: str | None, profile: str, partitions: dict[str, int]
) -> None:
    assert partitions_of(gpu, profile) == partitions
