from typing import Any

import pytest

from dra_fleet.fleet import parse
from tests.clouds.eks.eks_fleets import cluster, h100, mig, pool, ultra, values, warnings
from tests.fleet.plan.plan_helpers import planned, refused

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


def test_its_cluster_exists() -> None:
    fleet = domain()
    fleet["computeDomains"]["pretrain"]["cluster"] = "trian"
    assert refused(fleet)["computeDomains.pretrain.cluster"] == (
        "is not a cluster of this stack\n  got: trian\n  allowed: train\n  fix: did you mean train?"
    )


def test_its_template_is_not_a_claim_of_the_stack() -> None:
    fleet = domain()
    fleet["computeDomains"]["pretrain"]["template"] = "node"
    assert refused(fleet) == {
        "computeDomains.pretrain.template": "is also the name of a claim of this stack, and the driver makes "
        "this template itself\n  got: node\n  fix: choose another name, or remove template"
    }


def test_a_workload_names_a_domain_that_exists() -> None:
    fleet = domain()
    fleet["workloads"]["job"]["computeDomain"] = "pertrain"
    assert refused(fleet)["workloads.job.computeDomain"] == (
        "is not a ComputeDomain of this stack\n  got: pertrain\n  allowed: pretrain\n"
        "  fix: did you mean pretrain?"
    )


def test_a_workload_is_on_the_cluster_of_its_domain() -> None:
    fleet = domain()
    fleet["clusters"]["other"] = h100()["clusters"]["train"]
    fleet["workloads"]["job"]["cluster"] = "other"
    fleet["workloads"]["idle"] = {**fleet["workloads"]["job"], "cluster": "train"}
    assert refused(fleet) == {
        "workloads.job.computeDomain": "is in cluster train, and the workload runs on other\n"
        "  got: pretrain\n  fix: name a ComputeDomain of the same cluster"
    }


def test_pods_that_share_a_claim_are_on_one_node_with_one_channel() -> None:
    fleet = domain()
    fleet["claims"]["node"]["shared"] = True
    assert refused(fleet) == {
        "workloads.job.computeDomain": "does not go with the shared claim node: its pods are all on one "
        "node, which has one channel\n  got: pretrain\n"
        "  fix: remove shared from the claim, so that each pod gets GPUs on its node"
    }


def test_its_driver_serves_domains() -> None:
    fleet = domain()
    values(fleet, {"resources": {"computeDomains": {"enabled": False}}})
    assert refused(fleet) == {
        "computeDomains.pretrain.cluster": "has a driver that does not serve ComputeDomains: "
        "resources.computeDomains.enabled is false\n  got: train\n"
        "  fix: set resources.computeDomains.enabled: true in the values of its nvidia driver"
    }


def test_its_cluster_has_the_nvidia_driver_of_the_stack() -> None:
    fleet = domain()
    cluster(fleet)["drivers"]["nvidia"]["install"] = False
    assert refused(fleet) == {
        "computeDomains.pretrain.cluster": "has no NVIDIA driver of this stack, whose controller makes "
        "ComputeDomains\n  got: train\n  fix: add nvidia to the cluster's drivers"
    }


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
        "  fix: use version 25.8.1 or later, or remove channels"
    )
    fleet["computeDomains"]["pretrain"]["channels"] = "Single"
    cluster(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    assert planned(fleet).clusters[0].compute_domains[0].allocation_mode is None


def test_a_fabric_that_no_one_labels_is_refused() -> None:
    fleet = domain()
    cluster(fleet)["drivers"]["nvidia"]["version"] = "25.12.0"
    assert refused(fleet) == {
        "computeDomains.pretrain.cluster": "has no component that labels its nodes with "
        "nvidia.com/gpu.clique, by which the pods of a ComputeDomain find one fabric\n"
        "  got: version 25.12.0 of the driver\n"
        "  allowed: version 0.5.0 or later, or the GPU Operator\n"
        "  fix: add gpuOperator: {version: v25.10.0} to the cluster, or use a newer driver"
    }


def test_some_machine_is_on_such_a_fabric() -> None:
    fleet = domain(mig())
    assert refused(fleet) == {
        "computeDomains.pretrain.cluster": "has no machine whose NVLink reaches other machines, so that "
        "nothing could join\n  got: train\n  allowed: a pool of p6e-gb200.36xlarge\n"
        "  fix: add such a pool, or remove the ComputeDomain"
    }


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


def test_a_selector_of_another_pool_leaves_no_fabric() -> None:
    fleet = domain()
    cluster(fleet)["pools"]["h100"] = h100()["clusters"]["train"]["pools"]["gpu"]
    fleet["workloads"]["job"]["nodeSelector"] = {"dra-fleet/pool": "h100"}
    assert refused(fleet) == {
        "workloads.job.nodeSelector": "leaves no pool whose NVLink reaches other machines\n"
        "  got: dra-fleet/pool=h100\n  allowed: gpu\n  fix: remove nodeSelector"
    }


def test_an_ultra_server_has_eighteen_machines() -> None:
    fleet = domain()
    pool(fleet)["nodes"] = {"min": 1, "max": 19}
    assert refused(fleet) == {
        "clusters.train.pools.gpu.nodes.max": "is more than one UltraServer has, and a Capacity Block of "
        "p6e-gb200.36xlarge is one UltraServer\n  got: 19\n  allowed: 18 at most\n"
        "  fix: add a pool with another Capacity Block"
    }


def test_a_domain_is_declared_with_known_words_only() -> None:
    fleet = domain()
    fleet["computeDomains"]["pretrain"]["nodes"] = 2
    with pytest.raises(Exception, match=r"computeDomains\.pretrain\.nodes"):
        parse(fleet)
