from pathlib import Path
from typing import Any, Final

import pytest

from dra_fleet.core.declared.resources import Resource
from dra_fleet.testing import Recorder
from tests.policy.own_stacks import declared

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "team-queues.yaml"


@pytest.fixture
def made(recorder: Recorder) -> dict[tuple[str, str], Resource]:
    """The example's resources by kind and logical name."""
    return {
        (item.type.rpartition(":")[2], item.name): item for item in declared(recorder, EXAMPLE, preview=False)
    }


def test_a_cluster_queue_has_the_quotas_and_the_cohort(made: dict[tuple[str, str], Resource]) -> None:
    assert made["ClusterQueue", "lab-research"].read()["spec"] == {
        "cohortName": "gpus",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gpu-workloads"}},
        "resourceGroups": [
            {
                "coveredResources": ["gpus"],
                "flavors": [{"name": "devices", "resources": [{"name": "gpus", "nominalQuota": "5"}]}],
            }
        ],
        "preemption": {"reclaimWithinCohort": "Any"},
    }


def test_a_job_names_its_queue_and_its_pods_do_not(made: dict[tuple[str, str], Resource]) -> None:
    job: Any = made["Job", "lab-train"].read()
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    assert "kueue.x-k8s.io/queue-name" not in job["spec"]["template"]["metadata"]["labels"]


def test_a_job_is_deleted_before_its_queue_and_a_queue_before_kueue(
    made: dict[tuple[str, str], Resource],
) -> None:
    job, local = made["Job", "lab-train"], made["LocalQueue", "lab-research"]
    quotas, flavor = made["ClusterQueue", "lab-research"], made["ResourceFlavor", "lab-devices"]
    kueue = made["Release", "lab-kueue"].urn
    assert {local.urn, kueue} <= set(job.dependencies)
    assert {quotas.urn, kueue} <= set(local.dependencies)
    assert {flavor.urn, kueue} <= set(quotas.dependencies)
    assert kueue in flavor.dependencies
