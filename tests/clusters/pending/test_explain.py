from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet.clusters.pending import Cause, ClusterState, explain, explain_missing_pods
from dra_fleet.clusters.pending.state import label_problem, untolerated

GPU_CLASS = {
    "metadata": {"name": "gpu.nvidia.com"},
    "spec": {
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' && "
                    "device.attributes['gpu.nvidia.com'].type == 'gpu'"
                }
            }
        ]
    },
}
NODE: dict[str, Any] = {"metadata": {"name": "n1", "labels": {}}, "spec": {}}
TEMPLATE_SPEC: dict[str, Any] = {
    "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}
}


def device(name: str, kind: str = "gpu", memory: str = "40Gi") -> dict[str, Any]:
    return {"name": name, "attributes": {"type": {"string": kind}}, "capacity": {"memory": {"value": memory}}}


def published(*devices: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    pool = {"name": "n1", "generation": generation, "resourceSliceCount": 1}
    return {
        "metadata": {"name": f"slice-{generation}"},
        "spec": {"driver": "gpu.nvidia.com", "nodeName": "n1", "pool": pool, "devices": list(devices)},
    }


def template(spec: dict[str, Any] = TEMPLATE_SPEC) -> dict[str, Any]:
    return {"metadata": {"name": "gpu", "namespace": "ns"}, "spec": {"spec": spec}}


STATE = ClusterState(
    minor="1.36",
    nodes=[NODE],
    pods=[],
    daemonsets=[],
    slices=[published(device("gpu-0"))],
    classes=[GPU_CLASS],
    claims=[],
    templates=[template()],
    events=[],
)
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "p-uid"},
    "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]},
    "status": {"phase": "Pending"},
}


def in_use(by: str, *names: str) -> dict[str, Any]:
    results = [{"driver": "gpu.nvidia.com", "pool": "n1", "device": name} for name in names]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": [{"name": by}]}
    return {"metadata": {"name": f"claim-{by}", "namespace": "ns"}, "spec": TEMPLATE_SPEC, "status": status}


def warning(about: dict[str, Any], reason: str, message: str) -> dict[str, Any]:
    return {
        "reason": reason,
        "message": message,
        "involvedObject": about,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


def test_the_holders_of_all_devices_are_named() -> None:
    reason = explain(replace(STATE, claims=[in_use("other", "gpu-0")]), POD)
    assert (reason.cause, reason.sentence) == (
        Cause.NO_FREE_DEVICE,
        (
            "no free device for request gpu (class gpu.nvidia.com): 1 of 1 matching devices are in use by "
            "ns/other; add nodes or run fewer copies"
        ),
    )


def test_devices_of_an_older_generation_do_not_count() -> None:
    slices = [published(device("gpu-0")), published(device("part", "mig"), generation=2)]
    assert explain(replace(STATE, slices=slices), POD).cause == Cause.SELECTOR_FALSE


def test_the_first_false_clause_is_named_with_what_the_device_has() -> None:
    reason = explain(replace(STATE, slices=[published(device("part", "mig"))]), POD)
    assert reason.sentence == (
        "no device matches request gpu (class gpu.nvidia.com): clause "
        "`device.attributes['gpu.nvidia.com'].type == 'gpu'` is false on the nearest one, n1/part, "
        "whose type is mig"
    )


def test_without_any_driver_the_chart_is_asked_for() -> None:
    reason = explain(replace(STATE, slices=[]), POD)
    assert (reason.cause, reason.sentence) == (
        Cause.NO_DRIVER,
        (
            "no DaemonSet of this cluster runs DRA driver gpu.nvidia.com: install its chart, or let the "
            "claim ask for a class of a driver that is installed"
        ),
    )


def test_a_driver_whose_pods_wait_for_partitions_says_so() -> None:
    labels = {"nvidia.com/mig.config": "all-1g.10gb", "nvidia.com/mig.config.state": "rebooting"}
    term = {
        "matchExpressions": [{"key": "nvidia.com/mig.config.state", "operator": "In", "values": ["success"]}]
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec = {
        "volumes": [{"hostPath": {"path": "/var/lib/kubelet/plugins_registry"}}],
        "containers": [{"name": "gpus", "command": ["gpu-kubelet-plugin"]}],
        "affinity": {"nodeAffinity": required},
    }
    daemonset = {
        "metadata": {"namespace": "dra", "name": "nvidia", "uid": "d"},
        "spec": {"template": {"spec": spec}},
    }
    node = {"metadata": {"name": "n1", "labels": labels}, "spec": {}}
    reason = explain(replace(STATE, slices=[], nodes=[node], daemonsets=[daemonset]), POD)
    assert (reason.cause, reason.sentence) == (
        Cause.NOT_PARTITIONED,
        (
            "the driver waits until the GPUs of node n1 are partitioned: "
            "nvidia.com/mig.config.state is rebooting for nvidia.com/mig.config=all-1g.10gb"
        ),
    )


def test_one_possible_alternative_is_enough() -> None:
    alternatives = [
        {"name": "none", "deviceClassName": "gpu.nvidia.com", "count": 9},
        {"name": "one", "deviceClassName": "gpu.nvidia.com"},
    ]
    spec = {"devices": {"requests": [{"name": "gpu", "firstAvailable": alternatives}]}}
    assert explain(replace(STATE, templates=[template(spec)]), POD).cause == Cause.STARTING


def test_a_named_claim_that_is_absent_is_named() -> None:
    pod = {**POD, "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]}}
    assert explain(STATE, pod).sentence == (
        "ResourceClaim mine does not exist in namespace ns: create it, or correct the name in the pod"
    )


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("PodResourceClaim gpu: failed: exceeded quota: q", Cause.QUOTA_EXCEEDED),
        ("PodResourceClaim gpu: denied by a webhook", Cause.CLAIM_REFUSED),
    ],
)
def test_a_refused_claim_is_reported_in_the_servers_words(message: str, cause: Cause) -> None:
    events = [warning({"kind": "Pod", "uid": "p-uid"}, "FailedResourceClaimCreation", message)]
    reason = explain(replace(STATE, events=events), POD)
    assert reason.cause == cause
    assert message in reason.sentence


def test_a_pod_that_cannot_end_without_its_driver_is_reported() -> None:
    pod = {
        "metadata": {**POD["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n1", "resourceClaims": [{"name": "gpu", "resourceClaimName": "claim-p"}]},
    }
    reason = explain(replace(STATE, claims=[in_use("p", "gpu-0")]), pod)
    assert (reason.cause, reason.sentence) == (
        Cause.UNPREPARE_FAILED,
        (
            "it cannot end: no ready pod of DRA driver gpu.nvidia.com on node n1 unprepares its devices; "
            "start the driver again until the pods that use it are deleted"
        ),
    )


def test_the_scheduler_s_message_is_the_last_resort() -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes: Insufficient cpu"}
    reason = explain(STATE, {**POD, "status": {"conditions": [condition]}})
    assert (reason.cause, reason.sentence) == (
        Cause.NODE_RESOURCES,
        "the scheduler says: 0/1 nodes: Insufficient cpu",
    )


def test_a_job_that_a_quota_keeps_from_making_pods_is_named() -> None:
    job = {"kind": "Job", "name": "train-1a2b", "namespace": "ns"}
    events = [warning(job, "FailedCreate", "exceeded quota: pods")]
    assert explain_missing_pods(replace(STATE, events=events), "train", "ns").cause == Cause.QUOTA_EXCEEDED
    assert explain_missing_pods(STATE, "train", "ns").cause == Cause.STARTING


def test_a_pod_whose_gang_does_not_start_waits_for_its_gang() -> None:
    message = "minCount (2) cannot be satisfied"
    pod = {
        **POD,
        "spec": {**POD["spec"], "schedulingGroup": {"podGroupName": "train"}},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]},
    }
    reason = explain(STATE, pod)
    assert reason.cause is Cause.GANG
    assert str(reason) == f"the scheduler does not place PodGroup train together: {message}"


def node(labels: dict[str, str] | None = None, *taints: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": labels or {}}, "spec": {"taints": list(taints)}}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": affinity}}


def wants(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def test_a_node_selector_names_the_missing_label() -> None:
    assert label_problem({"nodeSelector": {"a": "b"}}, node({"a": "c"})) == "label a=b is missing"
    assert label_problem({"nodeSelector": {"a": "b"}}, node({"a": "b"})) is None


def test_of_several_terms_one_is_enough() -> None:
    spec = required(wants("a", "In", "1"), wants("b", "Exists"))
    assert label_problem(spec, node({"b": "x"})) is None
    assert label_problem(spec, node()) == "it has none of the labels a=1; b Exists"


@pytest.mark.parametrize(
    ("operator", "values", "holds"),
    [
        ("In", ("5", "6"), True),
        ("NotIn", ("5",), False),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("4",), True),
        ("Lt", ("4",), False),
    ],
)
def test_operators_mean_what_they_mean_to_the_scheduler(
    operator: str, values: tuple[str, ...], holds: bool
) -> None:
    assert (label_problem(required(wants("a", operator, *values)), node({"a": "5"})) is None) == holds


def test_a_term_without_requirements_matches_no_node() -> None:
    assert label_problem(required({}), node()) == "a node affinity without requirements matches no node"


def test_a_field_term_selects_by_name() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    assert label_problem(required(term), node()) is None


TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "problem"),
    [
        ({"key": "team", "operator": "Exists"}, None),
        ({"operator": "Exists"}, None),
        ({"key": "team", "value": "a"}, None),
        ({"key": "team", "value": "a", "effect": "NoSchedule"}, None),
        ({"key": "team", "value": "b"}, "team=a:NoSchedule"),
        ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, "team=a:NoSchedule"),
        ({"key": "other", "operator": "Exists"}, "team=a:NoSchedule"),
    ],
)
def test_a_toleration_must_fit_key_value_and_effect(toleration: dict[str, str], problem: str | None) -> None:
    assert untolerated({"tolerations": [toleration]}, node({}, TAINT)) == problem


def test_a_soft_taint_keeps_no_one_away() -> None:
    assert untolerated({}, node({}, {**TAINT, "effect": "PreferNoSchedule"})) is None


def test_daemons_tolerate_a_node_that_is_not_ready() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert untolerated({}, node({}, taint), daemon=True) is None
    assert untolerated({}, node({}, taint)) == "node.kubernetes.io/not-ready:NoSchedule"
