from msgspec.structs import replace

from dra_fleet.proof.answer.verdicts import Proof
from dra_fleet.proof.demand.pod_sets import with_channel
from dra_fleet.proof.prove import prove
from tests.clouds.eks.eks_fleets import pool, values
from tests.drivers.nvidia.test_compute_domains import domain
from tests.fleet.plan.plan_helpers import planned

REQUEST = {"name": "channel", "exactly": {"deviceClassName": "gpu.nvidia.com"}}


def proved(copies: int, gpus: int) -> Proof:
    fleet = domain()
    fleet["workloads"]["job"]["copies"] = copies
    fleet["claims"]["node"]["requests"]["gpus"] = {"class": "gpu.nvidia.com", "count": gpus}
    return prove(planned(fleet))


def test_a_channel_is_a_separate_claim_in_the_proof() -> None:
    claims = {item.name: item for item in proved(2, 4).claims}
    assert claims["pretrain-channel"].word == "guaranteed"
    assert [fit.per_node for fit in claims["pretrain-channel"].pools] == [1]


def test_a_node_runs_one_pod_of_a_domain_however_many_gpus_it_has() -> None:
    assert [(item.word, item.copies) for item in proved(2, 1).workloads] == [("guaranteed", 2)]
    (workload,) = proved(3, 1).workloads
    assert workload.word == "never"
    assert workload.fix == "run 2 copies at most, or raise nodes.max"


def test_two_domains_on_the_same_nodes_are_in_each_other_s_way() -> None:
    fleet = domain()
    fleet["computeDomains"]["other"] = {"cluster": "train"}
    fleet["claims"]["node"]["requests"]["gpus"] = {"class": "gpu.nvidia.com", "count": 2}
    fleet["workloads"]["second"] = {**fleet["workloads"]["job"], "computeDomain": "other"}
    crowded = prove(planned(fleet))
    assert ({item.word for item in crowded.workloads}, crowded.fits) == ({"possible"}, False)
    pool(fleet)["nodes"] = {"min": 4, "max": 4}
    assert {item.word for item in prove(planned(fleet)).workloads} == {"guaranteed"}


def test_a_driver_that_publishes_no_channels_is_reported_at_the_domain() -> None:
    plan = planned(domain())
    fleet = domain()
    del fleet["computeDomains"], fleet["workloads"]
    values(fleet, {"resources": {"computeDomains": {"enabled": False}}})
    without = planned(fleet).clusters[0]
    (cluster,) = plan.clusters
    broken = replace(cluster, releases=without.releases, workloads=())
    proof = prove(replace(plan, clusters=(broken,)))
    (failure,) = proof.failures
    assert failure.startswith(
        "dra-fleet:fleet.computeDomains.pretrain: on cluster train: pool gpu: request channel (class "
        "compute-domain-default-channel.nvidia.com)"
    )


def test_the_constraints_of_the_claim_stay_its_own() -> None:
    attribute = "resource.kubernetes.io/pcieRoot"
    spec = {"devices": {"requests": [REQUEST], "constraints": [{"matchAttribute": attribute}]}}
    (planned_domain,) = planned(domain()).clusters[0].compute_domains
    joined = with_channel(spec, planned_domain)["devices"]
    names = [request["name"] for request in joined["requests"]]
    assert names == ["channel", "channel-0"]
    assert joined["constraints"] == [{"matchAttribute": attribute, "requests": ["channel"]}]
