# ruff: noqa: E501 - messages and YAML are written as they are printed

from pathlib import Path

import pytest
import yaml

from tests.check.check_helpers import cluster, on
from tests.check.test_published_systems import class_, exactly, pod, template

H100 = cluster("hgx-h100-8")
PARTS = cluster(
    "hgx-h100-8", sharing={"strategy": "mig", "layout": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}}
)
COUNTS = yaml.safe_load(Path("tests/data/public-manifests.yaml").read_text("utf-8"))


def test_at_most_two_percent_of_the_findings_on_manifests_not_seen_before_are_wrong() -> None:
    first, second = COUNTS["first"], COUNTS["second"]
    assert sum(item["manifests"] for item in first) >= 150
    found = sum(item[kind] for item in second for kind in ("right", "arguable", "wrong"))
    assert found >= 150
    assert sum(item["wrong"] for item in second) / found <= 0.02
    assert len({item["source"].partition("/tree/")[0] for item in [*first, *second]}) == len(
        [*first, *second]
    )


def test_standard_attributes_of_an_unknown_driver_are_left_to_that_driver() -> None:
    text = "device.driver == 'dra.memory' && device.attributes['resource.kubernetes.io'].hugeTLB == true"
    [line] = on(class_("huge", text), lab=H100)
    assert "what driver dra.memory publishes cannot be predicted" in line


@pytest.mark.parametrize("name", ["gpu-admin.nvidia.com", "any.nvidia.com"])
def test_a_name_with_other_words_is_not_proposed(name: str) -> None:
    [line] = on(template("one", exactly("gpu", name)), lab=H100)
    assert "fix: check its DeviceClass together with this file" in line


def test_a_template_whose_name_has_another_word_is_not_proposed() -> None:
    lines = on(
        template("pg-claim-template", exactly("gpu", "gpu.nvidia.com")) + pod("my-claim-template"), lab=H100
    )
    [unknown] = [line for line in lines if "claim-unknown" in line]
    assert "allowed: pg-claim-template" in unknown
    assert "did you mean" not in unknown


def test_admin_access_of_an_alternative_is_an_unknown_field_and_nothing_else() -> None:
    request = "{name: gpu, firstAvailable: [{name: one, deviceClassName: gpu.nvidia.com, adminAccess: true}]}"
    [line] = on(template("one", request), lab=H100)
    assert "firstAvailable[0].adminAccess: unknown field" in line


def test_an_object_without_metadata_has_one_finding_about_its_name() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nspec: {devices: {requests: [%s]}}\n"
    [line] = on(text % exactly("gpu", "gpu.nvidia.com"), lab=H100)
    assert "metadata.name or metadata.generateName is required" in line


def test_a_class_of_a_driver_that_the_cluster_lacks_names_the_driver_to_add() -> None:
    [line] = on(class_("gpu.amd.com", "device.driver == 'gpu.amd.com'"), lab=H100)
    assert "fix: add amd to the cluster's drivers [no-device-matches]" in line


def test_a_dropped_field_is_not_reported_again_as_a_missing_one() -> None:
    text = """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: cpus}
spec:
  driver: dra.example.com
  nodeName: node
  pool: {name: node, generation: 1, resourceSliceCount: 1}
  devices: [{name: cpu-0, attributes: {roots: {strings: [a, b]}}}]
"""
    [line] = on(text, lab=H100)
    assert "feature gate DRAListTypeAttributes is off" in line


def test_the_fix_of_a_removed_source_names_a_field_that_exists() -> None:
    text = pod("one").replace("resourceClaimTemplateName: one", "source: {resourceClaimTemplate: one}")
    [line] = [
        line
        for line in on(template("one", exactly("gpu", "gpu.nvidia.com")) + text, lab=H100)
        if "source" in line
    ]
    assert "fix: write resourceClaimTemplateName directly under the claim" in line


def test_the_device_that_is_named_for_a_capacity_is_the_largest_one() -> None:
    selector = "selectors: [{cel: {expression: \"device.capacity['gpu.nvidia.com'].multiprocessors.compareTo(quantity('90')) >= 0\"}}]"
    [line] = on(template("one", exactly("gpu", "mig.nvidia.com", f", {selector}")), lab=PARTS)
    assert "is not true on gpu-0-mig-3g40gb-" in line
    assert "(multiprocessors 60)" in line


def test_an_untaken_claim_of_an_unknown_driver_may_serve_the_whole_pod() -> None:
    untaken = pod("one").replace("resources: {claims: [{name: own}]}", "resources: {}")
    [line] = [
        line
        for line in on(template("one", exactly("dev", "image-config")) + untaken, lab=H100)
        if "claim-not-taken" in line
    ]
    assert "unless its driver serves whole pods, its devices are allocated and no container sees them" in line


def test_a_class_with_errors_is_not_reported_as_a_class_of_all_devices() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: vfs}\nrequirements: [{driver: a}]\n"
    rules = [line.rpartition("[")[2] for line in on(text, lab=H100)]
    assert rules == ["object-refused]"]
