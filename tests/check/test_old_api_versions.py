# ruff: noqa: E501 - messages and YAML are written as they are reported

import pytest

from tests.check.check_helpers import cluster, on
from tests.check.test_published_systems import exactly, pod, template

H100 = cluster("hgx-h100-8")
FLAT = "{name: gpu, deviceClassName: gpu.nvidia.com}"


@pytest.mark.parametrize(
    ("version", "spec", "fix"),
    [
        (
            "v1beta1",
            f"devices: {{requests: [{FLAT}]}}",
            ", and write deviceClassName, selectors and count of",
        ),
        (
            "v1alpha2",
            f"devices: {{requests: [{FLAT}]}}",
            ", and write deviceClassName, selectors and count of",
        ),
        (
            "v1alpha2",
            "resourceClassName: gpu.nvidia.com",
            ", and write the devices under requests instead of",
        ),
        ("v1beta1", f"devices: {{requests: [{exactly('gpu', 'gpu.nvidia.com')}]}}", " [api-version]"),
    ],
    ids=["flat", "flat in an older version", "classic", "already exactly"],
)
def test_the_fix_of_an_old_version_depends_on_the_shape_of_the_claim(
    version: str, spec: str, fix: str
) -> None:
    claim = f"apiVersion: resource.k8s.io/{version}\nkind: ResourceClaim\nmetadata: {{name: c}}\nspec: {{{spec}}}\n"
    [output] = [line for line in on(claim, lab=H100) if "[api-version]" in line]
    assert f"fix: apiVersion: resource.k8s.io/v1{fix}" in output


def test_a_device_taint_rule_selects_classes_in_its_first_version_only() -> None:
    rule = "apiVersion: resource.k8s.io/VERSION\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec: {deviceSelector: {deviceClassName: gpu.nvidia.com}, taint: {key: a.example/b, effect: NoSchedule}}\n"
    later = cluster("hgx-h100-8", kubernetes="1.37")
    off, refused = on(rule.replace("VERSION", "v1beta2"), lab=later)
    assert (
        "spec.deviceSelector.deviceClassName: unknown field; a server refuses it or drops it silently; got: deviceClassName; allowed: driver, pool, device [object-refused]"
        in refused
    )
    assert "only where the API and its feature gate were turned on" in off
    assert "fix: apiVersion: resource.k8s.io/v1 [api-version]" in off
    [output] = on(rule.replace("VERSION", "v1alpha3"), lab=H100)
    assert (
        "fix: cordon the node, or write apiVersion: resource.k8s.io/v1 on Kubernetes 1.37 or later [api-version]"
        in output
    )


@pytest.mark.parametrize("field", ["constraints: [{matchAttribute: gpu.nvidia.com/uuid}]", "config: []"])
def test_a_field_of_devices_that_stands_elsewhere_is_moved(field: str) -> None:
    text = template("one", exactly("gpu", "gpu.nvidia.com")).replace(
        "spec: {devices", f"spec: {{{field}, devices", 1
    )
    [output] = on(text + pod("one"), lab=H100)
    assert f"fix: move {field.partition(':')[0]} to spec.spec.devices [object-refused]" in output
