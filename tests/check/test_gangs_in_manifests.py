"""Gangs in manifests: groups that are missing or too large, and claims that the pods share."""

from __future__ import annotations

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
    ("minor", "said"),
    [("1.35", "error: .*up to 1.35.8"), ("1.36", "warning: .*up to 1.36.5"), ("1.37", "")],
)
def test_a_shared_claim_of_a_gang_depends_on_the_version(minor: str, said: str) -> None:
    taken = ", resources: {claims: [{name: gpu}]}"
    text = group_of(minor, 2) + CLAIM + job(minor, 2, claims=SHARED, taken=taken)
    output = [line for line in found(minor, text) if "of a gang" in line]
    level, _, patch = said.partition(" .*")
    assert len(output) == bool(said)
    assert all(level in line and patch in line for line in output)
