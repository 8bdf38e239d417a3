from typing import Any

import pytest

from tests.check.check_helpers import cluster, on

GATES = {
    "1.35": ["GenericWorkload", "GangScheduling"],
    "1.36": ["GenericWorkload", "GangScheduling"],
    "1.37": ["GenericWorkload"],
}
HEAD = "apiVersion: scheduling.k8s.io/{}\nkind: {}\nmetadata: {{name: train, namespace: ml}}\nspec: {}\n"
GROUP = "{schedulingPolicy: {gang: {minCount: COUNT}}}"
GROUPS = {
    "1.35": HEAD.format(
        "v1alpha1", "Workload", "{podGroups: [{name: pods, policy: {gang: {minCount: COUNT}}}]}"
    ),
    "1.36": HEAD.format("v1alpha2", "PodGroup", GROUP),
    "1.37": HEAD.format("v1beta1", "PodGroup", GROUP),
}
MEMBERSHIP = {
    "1.35": "workloadRef: {name: GROUP, podGroup: pods}",
    "1.36": "schedulingGroup: {podGroupName: GROUP}",
    "1.37": "schedulingGroup: {podGroupName: GROUP}",
}
CLAIM = (
    "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: one, namespace: ml}\n"
    "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}\n"
)
SHARED = "resourceClaims: [{name: gpu, resourceClaimName: one}]"
MINORS = sorted(GROUPS)


def group_of(minor: str, count: int) -> str:
    return GROUPS[minor].replace("COUNT", str(count))


def job(
    minor: str, copies: int, *, group: str = "train", claims: str = "resourceClaims: []", taken: str = ""
) -> str:
    return (
        f"---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: train, namespace: ml}}\nspec:\n"
        f"  parallelism: {copies}\n  completions: {copies}\n  template:\n    spec:\n"
        f"      {MEMBERSHIP[minor].replace('GROUP', group)}\n      {claims}\n"
        f"      containers: [{{name: c, image: i{taken}}}]\n"
    )


def found(minor: str, text: str) -> list[str]:
    lab: dict[str, Any] = cluster("hgx-h100-8", minor)
    return on(text, lab=lab | {"featureGates": GATES[minor]})


@pytest.mark.parametrize("minor", MINORS)
def test_a_gang_with_enough_pods_is_accepted_where_its_gates_are_on(minor: str) -> None:
    assert found(minor, group_of(minor, 4) + job(minor, 4)) == []


@pytest.mark.parametrize("minor", MINORS)
def test_a_gang_of_more_pods_than_there_are_never_starts(minor: str) -> None:
    [output] = found(minor, group_of(minor, 5) + job(minor, 4))
    assert "error: " in output
    assert "minCount: the gang never starts: it needs 5 pods, and the files have 4; got: 5" in output


@pytest.mark.parametrize("minor", MINORS)
def test_a_group_that_no_file_declares_is_reported(minor: str) -> None:
    [output] = found(minor, group_of(minor, 4) + job(minor, 4, group="tran"))
    assert "the files declare no such group; the pod waits until the group exists; got: tran" in output


@pytest.mark.parametrize(
    ("minor", "said"), [("1.35", "error: .*up to 1.35.8"), ("1.36", "warning: .*up to 1.36.5"), ("1.37", "")]
)
def test_a_shared_claim_of_a_gang_depends_on_the_version(minor: str, said: str) -> None:
    taken = ", resources: {claims: [{name: gpu}]}"
    text = group_of(minor, 2) + CLAIM + job(minor, 2, claims=SHARED, taken=taken)
    output = [line for line in found(minor, text) if "of a gang" in line]
    level, _, patch = said.partition(" .*")
    assert len(output) == bool(said)
    assert all(level in line and patch in line for line in output)


EXAMPLE = {
    "example": {"version": "0.4.0", "values": {"kubeletPlugin": {"numDevices": 1, "gpuPartitions": 2}}}
}
FULL = "'full' in device.attributes['gpu.example.com']"
TEMPLATE = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: either, namespace: ml}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        firstAvailable:
        - {name: FIRST, deviceClassName: gpu.example.com, selectors: [{cel: {expression: "ONE"}}]}
        - {name: SECOND, deviceClassName: gpu.example.com, selectors: [{cel: {expression: "OTHER"}}]}
"""
TAKEN = ", resources: {claims: [{name: gpu}]}"


def divided(*, whole_first: bool, count: int = 2) -> list[str]:
    """A gang on one GPU that can be divided in two, as in kubernetes/kubernetes#140097."""
    names = {"FIRST": "whole", "SECOND": "half"} if whole_first else {"FIRST": "half", "SECOND": "whole"}
    texts = {"whole": FULL, "half": f"!({FULL})"}
    template = TEMPLATE.replace("ONE", texts[names["FIRST"]]).replace("OTHER", texts[names["SECOND"]])
    for word, name in names.items():
        template = template.replace(word, name)
    lab = cluster("hgx-h100-8", "1.37", EXAMPLE, nodes={"min": 1, "max": 1})
    lab["featureGates"] = GATES["1.37"]
    claims = "resourceClaims: [{name: gpu, resourceClaimTemplateName: either}]"
    text = group_of("1.37", count) + template + job("1.37", 2, claims=claims, taken=TAKEN)
    return [line for line in on(text, lab=lab) if "gang" in line]


def test_a_gang_whose_first_pod_takes_the_whole_device_starts_in_no_order() -> None:
    [output] = divided(whole_first=True)
    assert "error: Job train spec.parallelism: the gang starts in no order" in output
    assert "got: 1 x train on gpus-0 (gpu-0-full) -> train waits as a whole" in output
    assert "fix: list alternative half first in request gpu of claim either" in output


def test_a_gang_after_the_remedy_has_no_finding() -> None:
    assert divided(whole_first=False) == []
    assert divided(whole_first=True, count=1) == []


def with_group_claims(gates: list[str], entry: str) -> list[str]:
    group = HEAD.format(
        "v1beta1", "PodGroup", f"{{schedulingPolicy: {{gang: {{minCount: 2}}}}, resourceClaims: [{entry}]}}"
    )
    lab = cluster("hgx-h100-8", "1.37") | {"featureGates": gates}
    text = group + CLAIM + job("1.37", 2, claims=SHARED, taken=TAKEN)
    return [line for line in on(text, lab=lab) if "PodGroup" in line]


def test_claims_of_a_group_are_dropped_while_their_gate_is_off() -> None:
    [output] = with_group_claims(GATES["1.37"], "{name: gpu, resourceClaimName: one}")
    assert (
        "spec.resourceClaims[0]: is dropped, because the feature gate DRAWorkloadResourceClaims is off"
        in output
    )


def test_a_claim_of_a_group_must_equal_that_of_its_pods() -> None:
    gates = [*GATES["1.37"], "DRAWorkloadResourceClaims"]
    assert with_group_claims(gates, "{name: gpu, resourceClaimName: one}") == []
    [output] = with_group_claims(gates, "{name: gpu, resourceClaimName: two}")
    assert "is used by no pod of the group" in output
