# ruff: noqa: E501 - messages are written as they are reported

from tests.check.check_helpers import cluster, findings, on

TEMPLATE = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: %s}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: %s, count: %d}}]%s}}}
"""
JOB = """---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: %d
  template:
    spec:
      resourceClaims: [%s]
      containers:
        - {name: main, image: i, resources: {claims: [%s]}}
"""


def template(name: str, count: int, constraint: str = "", class_: str = "gpu.nvidia.com") -> str:
    constraints = f", constraints: [{{matchAttribute: {constraint}}}]" if constraint else ""
    return TEMPLATE % (name, class_, count, constraints)


def job(copies: int, *templates: str) -> str:
    claims = ", ".join(f"{{name: {name}, resourceClaimTemplateName: {name}}}" for name in templates)
    return JOB % (copies, claims, ", ".join(f"{{name: {name}}}" for name in templates))


def test_two_claims_that_share_a_node_pass() -> None:
    assert findings(template("a", 5) + template("b", 3) + job(1, "a", "b")) == []


def test_two_claims_that_each_fit_but_not_on_one_node_are_reported() -> None:
    [output] = findings(template("a", 5) + template("b", 4) + job(1, "a", "b"))
    assert output == (
        "19:7: error: Job train spec.template.spec.resourceClaims: no node has the devices of all these claims "
        "together; got: a, b; fix: ask for fewer devices, loosen the constraints, or choose machines with more "
        "devices of one kind [does-not-fit]"
    )


def test_a_constraint_that_no_node_meets_is_reported_where_the_claim_is() -> None:
    assert findings(template("a", 3, "gpu.nvidia.com/parentUUID", "mig.nvidia.com")) == []
    [output] = findings(template("a", 8, "gpu.nvidia.com/parentUUID", "mig.nvidia.com"))
    assert output.startswith(
        "5:15: error: ResourceClaimTemplate a spec.spec.devices: no node meets all its requests and "
        "constraints together"
    )


def test_a_constraint_on_an_attribute_that_is_unknown_is_not_checked() -> None:
    assert findings(template("a", 2, "gpu.nvidia.com/driverVersion")) == []


def test_as_many_pods_as_the_fleet_has_devices_for_pass_and_one_more_is_reported() -> None:
    assert findings(template("a", 4) + job(2, "a")) == []
    [output] = findings(template("a", 4) + job(3, "a"))
    assert output == (
        "11:3: error: Job train spec.parallelism: 3 pods ask for devices at the same time, and all nodes of h100 "
        "(up to 1) together have them for 2; got: 3; fix: run 2 at most, or raise nodes.max in the stack file [fleet-too-small]"
    )


def test_reports_unschedulable_pods_with_the_scheduler_s_message() -> None:
    text = template("a", 1, "gpu.nvidia.com/parentUUID", "mig.nvidia.com").replace(
        "count: 1", "allocationMode: All"
    )
    [output] = findings(text)
    assert "5:15: error: ResourceClaimTemplate a spec.spec.devices: stops the pod on every node: " in output
    assert "claim a, request gpu" in output


def test_each_cluster_is_checked_and_named_where_they_differ() -> None:
    both = {"big": cluster("hgx-h100-8"), "small": cluster("pcie-l40s-4")}
    assert on(template("a", 4), **both) == []
    [output] = on(template("a", 8), **both)
    assert " warning: " in output
    assert "exactly.count: on small: requests 8 devices of one node, where at most 4 of type gpu" in output


def test_a_field_that_one_cluster_s_minor_drops_is_reported_for_that_cluster() -> None:
    claim = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\n"
        "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, "
        "capacity: {requests: {memory: 10Gi}}}}]}}\n"
    )
    both = {"new": cluster("hgx-h100-8"), "old": cluster("hgx-h100-8", "1.35")}
    [output] = [line for line in on(claim, **both) if "on old: " in line]
    assert "on old: Kubernetes 1.35 drops this field silently" in output
    assert any("1.35 drops" in line and " error: " in line for line in on(claim, old=both["old"]))
    assert not any(" error: " in line for line in on(claim, new=both["new"]))


def test_a_driver_that_no_one_can_predict_is_a_warning_and_no_error() -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: nic}\n"
        "spec: {selectors: [{cel: {expression: \"device.driver == 'dra.net'\"}}]}\n"
    ) + template("a", 1, "", "nic")
    [output] = on(text, lab=cluster("hgx-h100-8", drivers={}))
    assert "warning: DeviceClass nic" in output
    assert "cannot be checked: what driver dra.net publishes cannot be predicted" in output


POD = """---
apiVersion: v1
kind: Pod
metadata: {name: typing-error}
spec:
  nodeSelector: {example.com/pool: %s}
  resourceClaims: [{name: a, resourceClaimTemplateName: singel}]
  containers: [{name: main, image: i, resources: {claims: [{name: a}]}}]
"""
RESERVED = [{"key": "example.com/reserved", "value": "x", "effect": "NoSchedule"}]


def test_checks_the_placement_of_a_pod_with_an_unknown_claim() -> None:
    tainted = cluster("hgx-h100-8", taints=RESERVED)
    kept_off, unknown = on(POD % "gpus", lab=tainted)
    assert "is not a ResourceClaimTemplate of the stack or of the files checked" in unknown
    assert kept_off == (
        "f:5:1: warning: Pod typing-error spec.tolerations: tolerates the taints of no pool of the stack: gpus "
        "has example.com/reserved=x:NoSchedule; fix: tolerations: [{key: example.com/reserved, operator: Equal, "
        "value: x, effect: NoSchedule}] [taints-not-tolerated]"
    )
    selects_none, _ = on(POD % "other", lab=tainted)
    assert "warning: Pod typing-error spec.nodeSelector: selects no pool of the stack; got:" in selects_none
    assert len(on(POD % "gpus", lab=cluster("hgx-h100-8"))) == 1
