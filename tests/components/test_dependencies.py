from collections import Counter
from pathlib import Path
from typing import Any, Final

import pulumi
import pytest

from components.fleet import build
from dra_fleet.core.declared.resources import Resource
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder
from tests.fleet.plan.plan_helpers import dev, planned
from tests.policy.own_stacks import STACKS, declared

NAMESPACE: Final = "kubernetes:core/v1:Namespace"
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
CLASS: Final = "kubernetes:resource.k8s.io/v1:DeviceClass"
TEMPLATE: Final = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
CLAIM: Final = "kubernetes:resource.k8s.io/v1:ResourceClaim"
DOMAIN: Final = "kubernetes:resource.nvidia.com/v1beta1:ComputeDomain"
JOB: Final = "kubernetes:batch/v1:Job"
NAMED: Final = (NAMESPACE, CLASS, TEMPLATE, CLAIM)
"""Types that other objects name in their specs."""

every_stack = pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.stem)


@pytest.mark.slow
@every_stack
def test_an_object_depends_on_what_it_names_and_on_nothing_else_of_that_kind(
    stack: Path, recorder: Recorder
) -> None:
    found = objects(declared(recorder, stack, preview=False))
    there = {
        (home(item), item.type, name_of(item)): item.urn for item in found.values() if item.type in NAMED
    }
    for item in found.values():
        named = {there[key] for kind, name in names(item) if (key := (home(item), kind, name)) in there}
        dependencies = {urn for urn in item.dependencies if urn in found and found[urn].type in NAMED}
        assert dependencies == named, item.urn


@pytest.mark.slow
@every_stack
def test_all_that_uses_devices_is_deleted_before_its_releases_and_releases_before_those_they_build_on(
    stack: Path, recorder: Recorder
) -> None:
    found = objects(declared(recorder, stack, preview=False))
    requested = {
        (kind, f"{cluster.name}-{item.name}"): {f"{cluster.name}-{name}" for name in item.after}
        for cluster in make_plan(read_stack_file(stack).settings).clusters
        for kind, items in (
            (JOB, cluster.workloads),
            (TEMPLATE, cluster.templates),
            (CLAIM, cluster.claims),
            (DOMAIN, cluster.compute_domains),
            (RELEASE, cluster.releases),
        )
        for item in items
    }
    for item in found.values():
        if item.type in {JOB, TEMPLATE, CLAIM, DOMAIN, RELEASE}:
            others = (found[urn] for urn in item.dependencies if urn in found)
            releases = {one.name for one in others if one.type == RELEASE}
            assert releases == requested[item.type, item.name], item.urn


def test_no_object_depends_on_more_because_the_fleet_is_larger(recorder: Recorder) -> None:
    fleet = dev()
    for number in range(30):
        fleet["classes"][f"c{number}"] = {"driver": "nvidia", "type": "gpu", "memory": {"min": "10Gi"}}
        fleet["claims"][f"t{number}"] = {"requests": {"gpu": {"class": f"c{number}"}}}
    recorder.run(lambda: build(planned(fleet), no_secret))
    edges: Counter[str] = Counter()
    for item in recorder.registrations.values():
        edges[item.type] = max(edges[item.type], len(item.dependencies))
    assert (edges[CLASS], edges[TEMPLATE], edges[RELEASE], edges[JOB]) == (0, 3, 1, 3)


def test_a_workload_waits_for_the_drivers_that_its_classes_select() -> None:
    fleet = dev()
    fleet["clusters"]["lab"]["drivers"]["example"] = {"version": "0.4.0"}
    cluster = planned(fleet).clusters[0]
    nvidia, example = "dra-driver-nvidia-gpu", "dra-example-driver"
    after = {item.name: item.after for item in cluster.workloads}
    assert {release.name for release in cluster.releases} == {nvidia, example}
    assert after["train"] == (nvidia,)
    assert set(after["infer-pair"]) == {nvidia, example}, "its class is CEL, which may select any device"


def test_claims_are_created_after_their_driver_and_after_the_webhook_that_checks_them() -> None:
    fleet = dev()
    fleet["clusters"]["lab"]["drivers"]["example"] = {"version": "0.4.0"}
    nvidia, example = "dra-driver-nvidia-gpu", "dra-example-driver"

    def after() -> dict[str, set[str]]:
        return {item.name: set(item.after) for item in planned(fleet).clusters[0].templates}

    assert after()["single-gpu"] == {nvidia}
    fleet["clusters"]["lab"]["drivers"]["example"]["values"] = {"webhook": {"enabled": True}}
    assert after()["single-gpu"] == {nvidia, example}


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


def objects(resources: list[Resource]) -> dict[str, Resource]:
    """Return the Kubernetes objects by URN."""
    return {item.urn: item for item in resources if item.type.startswith("kubernetes:")}


def home(item: Resource) -> str:
    assert item.provider is not None
    return item.provider.urn


def name_of(item: Resource) -> str:
    inputs: Any = item.read()
    return inputs["metadata"]["name"]


def names(item: Resource) -> set[tuple[str, str]]:
    """Kind and name of all that its inputs name."""
    inputs: Any = item.read()
    metadata = inputs.get("metadata", {})
    found = {(NAMESPACE, inputs.get("namespace") if item.type == RELEASE else metadata.get("namespace"))}
    spec: Any = inputs.get("spec", {})
    if item.type == JOB:
        for claim in spec["template"]["spec"]["resourceClaims"]:
            found |= {
                (TEMPLATE, claim.get("resourceClaimTemplateName")),
                (CLAIM, claim.get("resourceClaimName")),
            }
    if item.type in {TEMPLATE, CLAIM}:
        for request in (spec["spec"] if item.type == TEMPLATE else spec)["devices"]["requests"]:
            for asked in request.get("firstAvailable") or [request["exactly"]]:
                found.add((CLASS, asked["deviceClassName"]))
    return found
