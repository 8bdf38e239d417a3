from typing import Any

import pytest

from dra_fleet.fleet import parse
from tests.clouds.eks.eks_fleets import cluster, pool, ultra, values, warnings
from tests.fleet.plan.plan_helpers import planned, refused
from tests.fleet.plan.tables import Case, table

CLAIM = {"requests": {"gpus": {"class": "gpu.nvidia.com", "count": 4}}}
OLD = "25.3.2"


def domain(fleet: dict[str, Any] | None = None) -> dict[str, Any]:
    """An UltraServer with a workload in a ComputeDomain."""
    fleet = ultra() if fleet is None else fleet
    pool(fleet)["nodes"] = {"min": 2, "max": 2}
    fleet["claims"] = {"node": dict(CLAIM)}
    fleet["computeDomains"] = {"pretrain": {"cluster": "train"}}
    fleet["workloads"] = {
        "job": {"cluster": "train", "claim": "node", "computeDomain": "pretrain", "copies": 2}
    }
    return fleet


def second_pool(fleet: dict[str, Any]) -> dict[str, Any]:
    cluster(fleet)["pools"]["more"] = dict(pool(fleet))
    return fleet


def test_a_domain_lets_nodes_join_as_their_pods_come() -> None:
    plan = planned(domain())
    (made,) = plan.clusters[0].compute_domains
    assert (made.num_nodes, made.allocation_mode, made.template) == (0, "Single", "pretrain-channel")
    assert (made.namespace, made.external) == ("gpu-workloads", False)
    assert plan.warnings == ()


def test_its_workload_is_placed_on_the_only_fabric() -> None:
    (workload,) = planned(domain()).clusters[0].workloads
    assert workload.compute_domain == "pretrain"
    assert workload.node_selector == {"dra-fleet/pool": "gpu"}


def test_a_workload_outside_the_domain_can_be_placed_on_any_pool() -> None:
    fleet = domain()
    del fleet["workloads"]["job"]["computeDomain"]
    (workload,) = planned(fleet).clusters[0].workloads
    assert workload.node_selector == {}


def test_the_driver_labels_the_fabric_unless_the_operator_does() -> None:
    key = "gpuCliqueLabelEnabled"
    (release,) = planned(domain()).clusters[0].releases
    assert release.values["kubeletPlugin"]["containers"]["computeDomains"] == {key: True}
    fleet = domain()
    cluster(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    releases = {item.name: item for item in planned(fleet).clusters[0].releases}
    assert key not in str(releases["dra-driver-nvidia-gpu"].values)


def test_a_template_for_pods_outside_the_stack_keeps_its_name() -> None:
    fleet = domain()
    fleet["workloads"] = {}
    fleet["claims"] = {}
    (output,) = warnings(fleet)
    assert output == (
        "cluster train: no workload is in ComputeDomain pretrain; name it as a workload's computeDomain, or "
        "give it a template for pods outside this stack"
    )
    fleet["computeDomains"]["pretrain"]["template"] = "imex"
    plan = planned(fleet)
    (made,) = plan.clusters[0].compute_domains
    assert (made.template, made.external, plan.warnings) == ("imex", True, ())
    assert "gpu-workloads" in {item.name for item in plan.clusters[0].namespaces}


@table(__file__, domain)
def test_plan(case: Case) -> None:
    case.verify()


@pytest.mark.parametrize("gates", [{"IMEXDaemonsWithDNSNames": False, "ComputeDomainCliques": False}])
def test_without_dns_names_the_nodes_must_be_counted(gates: dict[str, bool]) -> None:
    fleet = domain()
    values(fleet, {"featureGates": gates})
    assert refused(fleet) == {
        "computeDomains.pretrain.numNodes": "must be the number of nodes that join: feature gate "
        "IMEXDaemonsWithDNSNames is off, or unknown to version 0.5.0\n  got: 0\n  allowed: 1 or more\n"
        "  fix: set numNodes to how many nodes the workload's pods are on, or turn the gate on"
    }
    fleet["computeDomains"]["pretrain"]["numNodes"] = 2
    assert planned(fleet).clusters[0].compute_domains[0].num_nodes == 2


def test_an_old_driver_knows_one_channel_only() -> None:
    fleet = domain()
    cluster(fleet)["drivers"]["nvidia"]["version"] = OLD
    fleet["computeDomains"]["pretrain"].update(numNodes=2, channels="All")
    assert refused(fleet)["computeDomains.pretrain.channels"] == (
        f"is unknown to version {OLD} of the driver\n  got: All\n  allowed: Single\n"
        "  fix: use version 25.8.0 or later, or remove channels"
    )
    fleet["computeDomains"]["pretrain"]["channels"] = "Single"
    cluster(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    assert planned(fleet).clusters[0].compute_domains[0].allocation_mode is None


@pytest.mark.parametrize(("version", "mode"), [("25.5.0", None), ("25.9.0", "All"), ("0.5.7", "All")])
def test_a_version_between_known_ones_has_the_modes_of_the_one_before_it(
    version: str, mode: str | None
) -> None:
    fleet = domain()
    cluster(fleet)["drivers"]["nvidia"]["version"] = version
    cluster(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    fleet["computeDomains"]["pretrain"].update(numNodes=2, channels=mode or "Single")
    assert planned(fleet).clusters[0].compute_domains[0].allocation_mode == mode


def test_two_pools_are_two_fabrics() -> None:
    fleet = second_pool(domain())
    assert refused(fleet) == {
        "workloads.job.nodeSelector": "leaves several pools, each with a separate NVLink fabric; all pods "
        "must fit in the pool of the first pod\n  got: gpu, more\n  allowed: one of them\n"
        "  fix: set nodeSelector: {dra-fleet/pool: gpu}"
    }
    fleet["workloads"]["job"]["nodeSelector"] = {"dra-fleet/pool": "more"}
    (workload,) = planned(fleet).clusters[0].workloads
    assert workload.node_selector == {"dra-fleet/pool": "more"}


def test_a_domain_is_declared_with_known_words_only() -> None:
    fleet = domain()
    fleet["computeDomains"]["pretrain"]["nodes"] = 2
    with pytest.raises(Exception, match=r"computeDomains\.pretrain\.nodes"):
        parse(fleet)
