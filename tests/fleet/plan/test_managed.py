from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

import pytest
import yaml12

from dra_fleet import drivers
from dra_fleet.clouds.aks.plan import agent_pool_name
from dra_fleet.clouds.aks.settings import AksClusterSettings
from dra_fleet.clusters.preflight import expectations
from dra_fleet.drivers.installed import drivers_of
from dra_fleet.drivers.operators import unserved
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.proof.prove import prove
from tests.clouds.ack.ack_fleets import a10
from tests.clouds.aks.aks_fleets import mig
from tests.clouds.eks.eks_fleets import cluster, h100
from tests.clouds.gke.gke_fleets import l4
from tests.fleet.plan.plan_helpers import ROOT, planned, refused

Fleet = dict[str, Any]
OPERATOR_PLUGIN = "nvidia.com/gpu.deploy.device-plugin"


def stack(name: str) -> Fleet:
    return deepcopy(dict(read_fleet(ROOT / "tests" / "data" / "stacks" / f"managed-{name}.yaml")))


def aks(**pool: Any) -> Fleet:
    fleet = stack("aks")
    only(fleet)["pools"]["h100"].update(pool)
    return fleet


def only(fleet: Fleet) -> Any:
    """Return the settings of the fleet's only cluster."""
    [cluster] = fleet["clusters"].values()
    return cluster


def of_pool(fleet: Fleet) -> dict[str, str]:
    """Return the refusals of the fleet's only pool, by setting."""
    return {path.split(".", 4)[-1]: text for path, text in refused(fleet).items()}


def test_devices_of_managed_drivers_are_proved_and_no_chart_is_installed() -> None:
    plan = planned(aks())
    proof = prove(plan)
    assert plan.clusters[0].releases == ()
    assert [(item.name, item.word) for item in proof.workloads] == [("pretrain", "guaranteed")]
    assert proof.failures == proof.warnings == ()


def test_the_proof_reports_who_manages_which_version() -> None:
    reported = (
        "cluster train, pool h100: driver nvidia 0.4.1 is managed by AKS",
        "cluster train, pool h100: driver dranet is managed by AKS; its version is not published",
    )
    assert prove(planned(aks())).managed == reported


def test_attributes_are_those_of_the_version_that_the_cloud_runs() -> None:
    nvidia = next(item for item in drivers_of(planned(aks()).clusters[0]) if item.driver.name == "nvidia")
    assert (nvidia.is_managed, nvidia.version.version) == (True, "0.4.1")
    assert "gpuModuleID" not in nvidia.attributes


def test_network_cards_of_a_managed_driver_are_unknown_unless_described() -> None:
    [workload] = prove(planned(aks(devices=[]))).workloads
    assert workload.word == "unknown"


def test_a_pool_without_the_managed_driver_has_none_of_its_devices() -> None:
    fleet = aks()
    pools = only(fleet)["pools"]
    pools["spare"] = {**pools["h100"], "advertise": "dra", "dranet": False, "devices": []}
    [claim] = prove(planned(fleet)).claims
    assert {fit.pool: fit.at_max for fit in claim.pools} == {"h100": 2, "spare": 0}


def test_a_pool_beside_a_managed_one_states_its_advertiser() -> None:
    fleet = aks()
    pools = only(fleet)["pools"]
    pools["spare"] = {"machine": "Standard_NC24ads_A100_v4", "nodes": {"min": 1, "max": 1}}
    assert refused(fleet) == {
        "clusters.train.pools.spare.advertise": "is required beside pool h100, whose driver the cloud "
        "manages\n  allowed: managed, device-plugin\n  fix: add advertise: managed"
    }


@pytest.mark.parametrize(
    ("driver", "key", "got"), [("nvidia", "advertise", "managed"), ("dranet", "dranet", "true")]
)
def test_a_managed_driver_and_a_release_of_it_are_two_owners(driver: str, key: str, got: str) -> None:
    fleet = aks()
    only(fleet)["drivers"] = {driver: {"version": {"nvidia": "0.5.0", "dranet": "1.4.0"}[driver]}}
    assert of_pool(fleet) == {
        key: f"runs AKS's {driver} driver on nodes where the stack installs {driver} too; both would "
        f"advertise the same devices\n  got: {got}\n"
        f"  fix: remove {driver} from the cluster's drivers, or {key} from the pool"
    }


@pytest.mark.parametrize("size", ["Standard_NC24ads_A100_v4", "Standard_NV36ads_A10_v5"])
def test_managed_dranet_is_for_machines_with_infiniband(size: str) -> None:
    assert of_pool(aks(machine=size)) == {
        "dranet": f"is not possible: AKS does not offer its managed dranet driver on {size}\n  got: true\n"
        "  fix: remove dranet, or choose another machine"
    }


def test_managed_is_refused_on_a_machine_that_the_driver_does_not_serve() -> None:
    assert of_pool(aks(machine="Standard_ND96isr_MI300X_v5")) == {
        "advertise": "is not possible: no managed DRA driver for Standard_ND96isr_MI300X_v5 is known on "
        "cloud aks\n  got: managed\n  allowed: dra, device-plugin, dranet: true for driver dranet\n"
        "  fix: set advertise: dra and add the driver to the cluster's drivers"
    }


@pytest.mark.parametrize(
    ("fleet", "machine", "others"),
    [
        (h100, "p5.48xlarge", ""),
        (l4, "g2-standard-8", ", dranet: true for driver dranet"),
        (a10, "ecs.gn7i-c8g1.2xlarge", ""),
    ],
)
def test_managed_is_refused_on_a_cloud_that_manages_no_such_driver(
    fleet: Callable[[], Fleet], machine: str, others: str
) -> None:
    settings = fleet()
    cloud = only(settings)["cloud"]
    for pool in only(settings)["pools"].values():
        pool["advertise"] = "managed"
    [text] = [text for path, text in refused(settings).items() if path.endswith(".advertise")]
    assert text == (
        f"is not possible: no managed DRA driver for {machine} is known on cloud {cloud}\n  got: managed\n"
        f"  allowed: dra, device-plugin{others}\n"
        "  fix: set advertise: dra and add the driver to the cluster's drivers"
    )


def test_aks_starts_its_dra_driver_beside_its_own_gpu_driver_only() -> None:
    fleet = aks(gpuDriver="operator")
    only(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    assert of_pool(fleet)["gpuDriver"] == (
        "cannot be operator: AKS starts its DRA driver only on nodes with its own GPU driver\n"
        "  got: operator\n  allowed: aks\n  fix: remove gpuDriver, or advertise"
    )


def test_a_managed_gpu_pool_has_no_autoscaler() -> None:
    assert of_pool(aks(nodes={"min": 0, "max": 2})) == {
        "nodes": "must be a fixed number: managed GPU node pools of AKS have no autoscaler yet\n"
        "  got: 0 to 2\n  fix: set nodes: {min: 2, max: 2}"
    }


def test_a_pool_of_cards_alone_keeps_a_node() -> None:
    assert "nodes.min" in of_pool(aks(advertise="dra", nodes={"min": 0, "max": 2}))


def test_sharing_is_not_the_stack_s_on_a_managed_pool() -> None:
    refusals = of_pool(aks(sharing={"strategy": "mig", "layout": {"1g.10gb": 7}}))
    assert refusals["sharing"].startswith("is for devices of a driver of the stack, and the cloud manages")


def test_class_of_a_chart_that_the_stack_does_not_install_is_a_warning() -> None:
    fleet = aks()
    fleet["claims"]["machine"]["requests"]["gpus"]["class"] = "gpu.nvidia.com"
    assert [text for text in planned(fleet).warnings if "managed" in text] == [
        (
            "cluster train: it is not known whether AKS adds DeviceClass gpu.nvidia.com with its managed "
            "driver; declare a class in the stack: classes: {NAME: {driver: nvidia}}"
        )
    ]


def test_the_operator_s_device_plugin_stays_off_a_managed_pool() -> None:
    fleet = mig()
    pools = only(fleet)["pools"]
    pools["gpu"]["advertise"] = "device-plugin"
    del pools["gpu"]["sharing"]
    pools["managed"] = {
        "machine": "Standard_NC24ads_A100_v4",
        "nodes": {"min": 1, "max": 1},
        "advertise": "managed",
    }
    only(fleet)["drivers"] = {}
    labels = {pool.name: pool.labels for pool in planned(fleet).clusters[0].pools}
    assert labels["managed"][OPERATOR_PLUGIN] == "false"
    assert OPERATOR_PLUGIN not in labels["gpu"]


@pytest.mark.parametrize("change", [{"advertise": "dra"}, {"dranet": False}])
def test_a_pool_that_changes_its_owner_is_replaced(change: Fleet) -> None:
    names: list[str] = []
    for fleet in (aks(devices=[]), aks(devices=[], **change)):
        [cluster] = planned(fleet).clusters
        assert isinstance(cluster.settings, AksClusterSettings)
        names.append(agent_pool_name(cluster.pools[0], cluster.settings.pools["h100"]))
    assert names[0] != names[1]


def test_coreweave_manages_compute_domains_and_its_device_plugin_the_gpus() -> None:
    plan = planned(stack("coreweave"))
    [pool] = plan.clusters[0].pools
    proof = prove(plan)
    assert (pool.advertise, pool.by_plugin, pool.has_managed("nvidia")) == ("compute-domain-only", True, True)
    assert [(item.name, item.word) for item in proof.claims] == [("pretrain-channel", "guaranteed")]


def test_gpus_of_coreweave_are_no_devices_of_its_driver() -> None:
    fleet = stack("coreweave")
    fleet["claims"] = {"gpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}}
    assert {item.name: item.word for item in prove(planned(fleet)).claims}["gpu"] == "never"


@pytest.mark.parametrize("change", [{"provider": None}, {"pools": "pcie-l40s-4"}])
def test_an_existing_cluster_has_a_managed_driver_only_of_a_known_provider_and_machine(change: Fleet) -> None:
    fleet = stack("coreweave")
    del fleet["computeDomains"]
    if "provider" in change:
        del only(fleet)["provider"]
    else:
        only(fleet)["pools"]["gb200"]["machine"] = change["pools"]
    assert of_pool(fleet)["advertise"].startswith("is not possible: ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aks", {"gpu.nvidia.com": "AKS", "dra.net": "AKS"}),
        ("coreweave", {"compute-domain.nvidia.com": "CoreWeave"}),
    ],
)
def test_doctor_expects_what_the_provider_publishes(name: str, expected: dict[str, str]) -> None:
    assert expectations(planned(stack(name)).clusters[0]).managed == expected


@pytest.mark.parametrize("name", sorted(unserved()))
def test_an_unserved_driver_by_name_is_refused_with_the_lines_to_write(name: str) -> None:
    fleet, output = h100(), unserved()[name]
    cluster(fleet)["drivers"][name] = {"version": "1.0.0"}
    assert refused(fleet) == {
        f"clusters.train.drivers.{name}": "is a DRA driver that this program does not serve by itself: "
        f"{output.why}\n  got: {name}\n  fix: describe it: {output.description}, and its devices: devices: "
        f"[{{driver: {output.publishes}, …}}] of pools"
    }


@pytest.mark.parametrize("name", sorted(unserved()))
def test_plans_the_required_settings(name: str) -> None:
    fleet, output = h100(), unserved()[name]
    described = cast("dict[str, Any]", yaml12.parse_yaml(f"{{version: 1.0.0, {output.description}}}"))
    cluster(fleet)["drivers"][name] = described
    cluster(fleet)["pools"]["others"] = {
        "machine": {"instanceType": "trn2.48xlarge", "cpus": 192, "memory": 2048},
        "nodes": {"min": 1, "max": 1},
        "devices": [{"driver": output.publishes, "name": "device", "count": 2}],
    }
    [release] = [one for one in planned(fleet).clusters[0].releases if one.driver == output.publishes]
    assert release.chart == output.chart
    assert described.get("values", {}).items() <= release.values.items()


def test_none_of_them_is_served() -> None:
    published = {publisher for driver in drivers.known() for publisher in driver.publishers}
    assert not published & {one.publishes for one in unserved().values()}
    assert not unserved().keys() & set(drivers.names())
