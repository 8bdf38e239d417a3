import json
from pathlib import Path
from typing import Any, Final

import pytest

from components.core.identity import Identity
from components.workload import WorkloadJob, WorkloadJobArgs, workload_deployment
from dra_fleet.core.declared.resources import Resource
from dra_fleet.fleet import read_stack_file
from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.model.workloads import WorkloadSettings
from dra_fleet.testing import Recorder, Registration
from tests.policy.own_stacks import declared


def running(**more: Any) -> WorkloadSettings:
    pods = {"cluster": "lab", "claim": "single-gpu", "copies": 4, "cpu": "1", "memory": "1Gi"}
    return WorkloadSettings.model_validate_json(json.dumps({**pods, **more}))


def declare(recorder: Recorder, **changes: Any) -> Registration:
    given: dict[str, Any] = {
        "name": "train",
        "namespace": "ml",
        "template": "single-gpu-0a1b2c3d",
        "copies": 4,
        "runs": running(),
        "identity": Identity(owner="ml-platform"),
    }
    recorder.run(lambda: WorkloadJob("lab-train", WorkloadJobArgs(**{**given, **changes})))
    return recorder.only("kubernetes:batch/v1:Job")


def pod(job: Registration) -> dict[str, Any]:
    return job.inputs["spec"]["template"]["spec"]


def test_all_copies_run_at_the_same_time(recorder: Recorder) -> None:
    spec = declare(recorder).inputs["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (4, 4, 6)


def test_the_engine_does_not_wait_until_the_job_has_finished(recorder: Recorder) -> None:
    metadata = declare(recorder).inputs["metadata"]
    assert metadata["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_job_and_pods_carry_the_labels_they_are_found_by(recorder: Recorder) -> None:
    job = declare(recorder)
    labels = {
        "app.kubernetes.io/managed-by": "dra-fleet",
        "dra-fleet/owner": "ml-platform",
        "dra-fleet/workload": "train",
    }
    assert job.inputs["metadata"]["labels"] == labels
    assert job.inputs["spec"]["template"]["metadata"]["labels"] == labels


def test_each_pod_gets_its_own_claim_and_its_container_sees_the_devices(recorder: Recorder) -> None:
    spec = pod(declare(recorder))
    assert spec["resourceClaims"] == [{"name": "devices", "resourceClaimTemplateName": "single-gpu-0a1b2c3d"}]
    assert spec["containers"][0]["resources"] == {
        "claims": [{"name": "devices"}],
        "requests": {"cpu": "1", "memory": "1Gi"},
    }
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False


def test_memory_is_a_request_and_no_limit_unless_limits_says_so(recorder: Recorder) -> None:
    [container] = pod(declare(recorder))["containers"]
    assert container["resources"]["requests"]["memory"] == "1Gi"
    assert "limits" not in container["resources"]
    description = WorkloadSettings.model_fields["memory"].description or ""
    assert description == "Memory request of each pod. It is not a limit"


def test_the_tensorflow_job_of_the_mig_example_runs_without_a_memory_limit() -> None:
    settings = read_stack_file(Path("examples/aks-mig.yaml")).settings.workloads["mnist"]
    assert isinstance(settings, WorkloadSettings)
    assert "samples-tf-mnist-demo" in settings.image
    assert settings.limits == {}


def test_pods_share_a_claim_that_is_named(recorder: Recorder) -> None:
    spec = pod(declare(recorder, template=None, claim="shared"))
    assert spec["resourceClaims"] == [{"name": "devices", "resourceClaimName": "shared"}]


def test_pods_of_a_compute_domain_claim_a_channel_too_and_follow_the_first_one_s_fabric(
    recorder: Recorder,
) -> None:
    job = declare(recorder, channel="pretrain-channel", fabric_label="nvidia.com/gpu.clique")
    spec = pod(job)
    assert spec["resourceClaims"][1:] == [
        {"name": "channel", "resourceClaimTemplateName": "pretrain-channel"}
    ]
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "devices"}, {"name": "channel"}]
    (term,) = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "nvidia.com/gpu.clique"
    assert term["labelSelector"] == {"matchLabels": job.inputs["metadata"]["labels"]}


def test_it_is_placed_by_its_node_selector(recorder: Recorder) -> None:
    tolerations = (Toleration(operator="Exists"), Toleration(key="gpu", value="x", effect="NoSchedule"))
    spec = pod(
        declare(
            recorder,
            node_selector={"pool": "h100"},
            tolerations=tolerations,
            runs=running(command=["sleep", "9"]),
        )
    )
    assert spec["nodeSelector"] == {"pool": "h100"}
    assert spec["tolerations"] == [
        {"operator": "Exists"},
        {"key": "gpu", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
    ]
    assert spec["containers"][0]["command"] == ["sleep", "9"]


def test_a_changed_job_frees_its_devices_before_the_new_one_asks(recorder: Recorder) -> None:
    job = declare(recorder)
    assert job.delete_before_replace
    assert job.replace_on_changes == ("spec",)


def test_deployment_replaces_its_pods_one_by_one_without_more_devices(recorder: Recorder) -> None:
    args = WorkloadJobArgs(
        name="serve",
        namespace="ml",
        claim="shared",
        copies=2,
        runs=running(kind="Deployment"),
        identity=Identity(owner="ml-platform"),
    )
    recorder.run(lambda: workload_deployment("lab-serve", args))
    spec = recorder.only("kubernetes:apps/v1:Deployment").inputs["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert "restartPolicy" not in spec["template"]["spec"]


def test_pods_have_their_own_arguments_variables_volumes_and_limits(recorder: Recorder) -> None:
    runs = running(
        image="registry.example.com/train:1",
        args=["--epochs", "3"],
        env={"MODE": "fast", "TOKEN": {"secret": "hub", "key": "token"}},
        volumes={
            "data": {"mountPath": "/data", "claim": "datasets", "readOnly": True},
            "shm": {"mountPath": "/scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
        },
        requests={"ephemeral-storage": "10Gi"},
        limits={"memory": "16Gi"},
        serviceAccount="trainer",
    )
    spec = pod(declare(recorder, runs=runs))
    container = spec["containers"][0]
    assert container["args"] == ["--epochs", "3"]
    assert container["env"] == [
        {"name": "MODE", "value": "fast"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
    ]
    assert container["volumeMounts"] == [
        {"name": "data", "mountPath": "/data", "readOnly": True},
        {"name": "shm", "mountPath": "/scratch"},
    ]
    assert spec["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "datasets"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
    ]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "10Gi"}
    assert container["resources"]["limits"] == {"memory": "16Gi"}
    assert spec["serviceAccountName"] == "trainer"
    assert "automountServiceAccountToken" not in spec


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
