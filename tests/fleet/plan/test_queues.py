from typing import Any

import pytest
import yaml

from tests.fleet.plan.plan_helpers import dev, planned, second_cluster
from tests.fleet.plan.tables import Case, table


def queued() -> dict[str, Any]:
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


fleet = pytest.fixture(queued)


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


@table(__file__, queued)
def test_plan(case: Case) -> None:
    case.verify()
