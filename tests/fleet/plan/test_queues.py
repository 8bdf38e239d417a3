from typing import Any

import pytest
import yaml

from tests.fleet.plan.plan_helpers import dev, planned, refused, second_cluster


@pytest.fixture
def fleet() -> dict[str, Any]:
    fleet = dev()
    fleet["queues"] = {
        "version": "0.19.0",
        "deviceClassMappings": {"gpus": ["at-least-20g"], "parts": ["mig-5g", "mig-1g-5gb"]},
        "clusterQueues": {
            "research": {"cluster": "lab", "cohort": "all", "nominalQuota": {"gpus": 4, "parts": 20}},
            "batch": {"cluster": "lab", "cohort": "all", "nominalQuota": {"gpus": 0}},
        },
    }
    fleet["workloads"]["train"]["queue"] = "research"
    return fleet


def test_a_queue_s_workload_takes_what_its_claim_asks_for(fleet: dict[str, Any]) -> None:
    fleet["workloads"]["train-pair"]["queue"] = "batch"
    (cluster,) = planned(fleet).clusters
    taken = {item.name: (item.queue, dict(item.quota)) for item in cluster.workloads}
    assert taken == {
        "infer": (None, {}),
        "infer-pair": (None, {}),
        "train": ("research", {"gpus": 1}),
        "train-pair": ("batch", {"gpus": 2}),
    }


def test_kueue_is_reported_the_mappings_and_whose_jobs_it_starts(fleet: dict[str, Any]) -> None:
    fleet["queues"]["values"] = {"controllerManager": {"replicas": 2}}
    (cluster,) = planned(fleet).clusters
    release = cluster.releases[-1]
    output = yaml.safe_load(release.values["managerConfig"]["controllerManagerConfigYaml"])
    assert (release.name, release.version, release.namespace) == ("kueue", "0.19.0", "kueue-system")
    assert release.values["controllerManager"] == {"replicas": 2}
    assert output["resources"]["deviceClassMappings"] == [
        {"name": "gpus", "deviceClassNames": ["at-least-20g"]},
        {"name": "parts", "deviceClassNames": ["mig-5g", "mig-1g-5gb"]},
    ]
    selected = {"matchLabels": {"kubernetes.io/metadata.name": "gpu-workloads"}}
    assert output["managedJobsNamespaceSelector"] == selected
    assert all("kueue" in item.after for item in cluster.workloads)
    assert {item.name: dict(item.labels) for item in cluster.namespaces}["kueue-system"] == {}


def test_a_cluster_without_queues_has_no_kueue(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {"example": {"version": "0.4.0"}})
    edge, lab = planned(fleet).clusters
    assert edge.queues == ()
    assert "kueue" not in [item.name for item in edge.releases]
    assert [item.name for item in lab.queues] == ["batch", "research"]


WRONG: list[tuple[list[str], Any, str, str]] = [
    (
        ["workloads", "train", "queue"],
        "reserch",
        "workloads.train.queue",
        "is not a queue of this stack\n  got: reserch\n  allowed: research, batch\n",
    ),
    (
        ["workloads", "train", "copies"],
        5,
        "workloads.train.copies",
        (
            "is a gang of 5 gpus; queue research never has more than 4, "
            "so that not one of its pods would start\n"
            "  got: 5\n  allowed: 1 to 4\n  fix: run 4 copies at most, or raise the quota"
        ),
    ),
    (
        ["queues", "deviceClassMappings", "gpus"],
        ["gpu.nvidia.com"],
        "workloads.train.claim",
        (
            "requests a class that no mapping counts, so that Kueue never starts the workload\n"
            "  got: at-least-20g\n  allowed: gpu.nvidia.com, mig-1g-5gb, mig-5g\n"
            "  fix: add the class to a mapping of queues.deviceClassMappings"
        ),
    ),
    (
        ["queues", "deviceClassMappings", "tpus"],
        ["at-least-20g"],
        "queues.deviceClassMappings.tpus[0]",
        "is counted as gpus already; Kueue would not start\n  got: at-least-20g\n  fix: name each class once",
    ),
    (
        ["queues", "clusterQueues", "research", "nominalQuota", "gpu"],
        1,
        "queues.clusterQueues.research.nominalQuota",
        (
            "counts nothing: no mapping has this name\n  got: gpu\n  allowed: gpus, parts\n"
            "  fix: did you mean gpus? Or add it to deviceClassMappings"
        ),
    ),
    (
        ["queues", "clusterQueues", "batch", "cluster"],
        "lap",
        "queues.clusterQueues.batch.cluster",
        "is not a cluster of this stack\n  got: lap\n  allowed: lab",
    ),
    (
        ["queues", "clusterQueues", "batch", "borrowingLimit"],
        {"parts": 2},
        "queues.clusterQueues.batch.borrowingLimit",
        (
            "limits a class for which the queue has no quota\n  got: parts\n  allowed: gpus\n"
            "  fix: add parts: 0 to nominalQuota"
        ),
    ),
    (
        ["queues", "version"],
        "0.18.0",
        "queues.version",
        (
            "is not a known version of Kueue's chart\n  got: 0.18.0\n  allowed: 0.19.0, 0.19.11, 0.20.5\n"
            "  fix: did you mean 0.19.0?"
        ),
    ),
    (
        ["queues", "values"],
        {"controllerManager": {"replica": 2}},
        "queues.values.controllerManager.replica",
        "is not a value of chart 0.19.0; Helm would ignore it silently\n",
    ),
    (
        ["queues", "values"],
        {"managerConfig": {"controllerManagerConfigYaml": ""}},
        "queues.values.managerConfig.controllerManagerConfigYaml",
        "is made of deviceClassMappings and must not be given too\n  fix: remove it",
    ),
    (
        ["claims", "single-gpu", "shared"],
        True,
        "workloads.train.claim",
        "cannot wait in a queue: all pods share the claim, which Kueue does not count\n  got: single-gpu\n",
    ),
    (
        ["claims", "single-gpu", "requests", "gpu", "allocationMode"],
        "All",
        "workloads.train.claim",
        "cannot wait in a queue: it requests all devices of a node, which Kueue does not count\n",
    ),
    (
        ["claims", "single-gpu", "requests", "gpu", "adminAccess"],
        True,
        "workloads.train.claim",
        "cannot wait in a queue: it has adminAccess, which Kueue does not count\n",
    ),
    (
        ["claims", "single-gpu", "requests", "gpu"],
        {"firstAvailable": [{"name": "a", "class": "at-least-20g"}]},
        "workloads.train.claim",
        "cannot wait in a queue: it has firstAvailable, which Kueue does not count\n",
    ),
    (
        ["workloads", "infer", "queue"],
        "batch",
        "workloads.infer.queue",
        (
            "has no quota of parts, which the workload takes\n  got: batch\n"
            "  fix: add parts to its nominalQuota; 0 lets it only borrow"
        ),
    ),
]


def test_a_mapping_named_pods_is_refused_from_kueue_0_20_on(fleet: dict[str, Any]) -> None:
    queues = fleet["queues"]
    queues["deviceClassMappings"]["pods"] = queues["deviceClassMappings"].pop("gpus")
    for queue in queues["clusterQueues"].values():
        queue["nominalQuota"] = {
            "pods" if name == "gpus" else name: count for name, count in queue["nominalQuota"].items()
        }
        queue.pop("borrowingLimit", None)
    planned(fleet)
    queues["version"] = "0.20.5"
    assert refused(fleet) == {
        "queues.deviceClassMappings.pods": "is a name that Kueue 0.20 and later count pods by; "
        "Kueue would not start\n  fix: rename the mapping, also in the quotas of the queues"
    }


@pytest.mark.parametrize(
    ("keys", "value", "path", "start"), WRONG, ids=[f"{item[2]}-{place}" for place, item in enumerate(WRONG)]
)
def test_reports_once_a_workload_that_a_queue_never_starts(
    fleet: dict[str, Any], keys: list[str], value: Any, path: str, start: str
) -> None:
    *outer, last = keys
    place = fleet
    for key in outer:
        place = place[key]
    place[last] = value
    output = refused(fleet)
    assert list(output) == [path]
    assert output[path].startswith(start)


def test_a_quota_of_a_class_that_no_one_serves_is_refused(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {"example": {"version": "0.4.0"}})
    fleet["queues"]["clusterQueues"]["edge"] = {"cluster": "edge", "nominalQuota": {"gpus": 1}}
    output = refused(fleet)
    assert list(output) == ["queues.clusterQueues.edge.nominalQuota.gpus"]
    assert output["queues.clusterQueues.edge.nominalQuota.gpus"] == (
        "is a quota of classes that cluster edge does not have\n  got: at-least-20g\n"
        "  allowed: gpu.example.com, mig-1g-5gb\n"
        "  fix: count a class that a driver or the stack installs there"
    )


def test_a_queue_of_another_cluster_is_refused(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {"nvidia": {"version": "0.5.0"}})
    fleet["queues"]["clusterQueues"]["edge"] = {"cluster": "edge", "nominalQuota": {"gpus": 2}}
    fleet["workloads"]["train"]["queue"] = "edge"
    assert refused(fleet)["workloads.train.queue"] == (
        "is a queue of cluster edge, and the workload runs on lab\n  got: edge\n  allowed: batch, research\n"
        "  fix: name a queue of the workload's cluster"
    )


def test_lending_needs_a_cohort(fleet: dict[str, Any]) -> None:
    del fleet["queues"]["clusterQueues"]["research"]["cohort"]
    fleet["queues"]["clusterQueues"]["research"]["reclaimWithinCohort"] = "Any"
    assert refused(fleet) == {
        "queues.clusterQueues.research.reclaimWithinCohort": (
            "requires a cohort: no other queue lends to this queue\n  fix: name a cohort"
        )
    }


def test_a_workload_in_a_queue_where_there_are_none_is_refused(fleet: dict[str, Any]) -> None:
    del fleet["queues"]
    assert refused(fleet)["workloads.train.queue"].startswith("is not a queue of this stack\n  got: research")
