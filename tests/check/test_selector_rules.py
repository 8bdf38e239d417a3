# ruff: noqa: E501, ISC004 - messages are written as they are reported

import pytest

from dra_fleet.check import FileFinding, ManifestFile
from tests.check.check_helpers import ROOT, check, plan_of

DRIVER = "device.driver == 'gpu.nvidia.com' && "
ATTRIBUTES = "device.attributes['gpu.nvidia.com']"
CAPACITY = "device.capacity['gpu.nvidia.com']"


def found(expression: str, name: str = "big", stack: str = "tests/data/stacks/lab.yaml") -> list[FileFinding]:
    text = (
        f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: {name}}}\n"
        f"spec:\n  selectors:\n    - cel:\n        expression: >-\n          {expression}\n"
    )
    return check(plan_of(ROOT / stack), [ManifestFile(name="f.yaml", data=text.encode())])


@pytest.mark.parametrize(
    ("expression", "severity", "what", "fix"),
    [
        (
            ATTRIBUTES + ".type == 'gpu'",
            "warning",
            "fails on the devices of any other driver",
            DRIVER + ATTRIBUTES + ".type == 'gpu'",
        ),
        (
            DRIVER + "device.attributes['resource.kubernetes.io'].pcieRoot == 'x'",
            "warning",
            "fails where a device of type mig has no pcieRoot, which not every device has",
            DRIVER + "'pcieRoot' in device.attributes['resource.kubernetes.io'] && "
            "device.attributes['resource.kubernetes.io'].pcieRoot == 'x'",
        ),
        (
            DRIVER + "device.attributes['gpu.nvidia.com/architecture'] == 'Hopper'",
            "error",
            "compilation failed: ERROR: <input>:1:87: found no matching overload for '_==_'",
            DRIVER + ATTRIBUTES + ".architecture == 'Hopper'",
        ),
        (
            DRIVER + "device['attributes']['gpu.nvidia.com'].type == 'gpu'",
            "error",
            "compilation failed: ERROR: <input>:1:44: found no matching overload for '_[_]' applied to "
            "'(kubernetes.DRADevice, string)'",
            DRIVER + ATTRIBUTES + ".type == 'gpu'",
        ),
        (
            DRIVER + CAPACITY + ".memory >= '40Gi'",
            "error",
            "compilation failed: ERROR: <input>:1:79: found no matching overload for '_>=_' applied to "
            "'(kubernetes.Quantity, string)'",
            DRIVER + CAPACITY + ".memory.compareTo(quantity('40Gi')) >= 0",
        ),
        (
            DRIVER + ATTRIBUTES + ".cudaComputeCapability >= '9.0'",
            "error",
            "compares the version cudaComputeCapability with a string; versions are compared with semver()",
            DRIVER + ATTRIBUTES + ".cudaComputeCapability.compareTo(semver('9.0.0')) >= 0",
        ),
    ],
)
def test_a_mistake_has_a_fix_that_passes(expression: str, severity: str, what: str, fix: str) -> None:
    [finding] = found(expression)
    assert (finding.severity, finding.fix) == (severity, fix)
    assert finding.what.startswith(what)
    assert found(fix) == []


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        (
            DRIVER + ATTRIBUTES + ".pcieRoot == 'x'",
            "fails on gpu-0-mig-1g5gb-19-0 of pool a100 (no such key: pcieRoot), which aborts the scheduling of "
            "every pod that asks, on all nodes; no driver publishes device.attributes['gpu.nvidia.com'].pcieRoot; "
            "its domain is resource.kubernetes.io",
        ),
        (
            DRIVER
            + ATTRIBUTES
            + ".type == 'gpu' && "
            + CAPACITY
            + ".memory.compareTo(quantity('100Gi')) >= 0",
            "matches 0 of 36 devices of the fleet's nodes: "
            "`device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('100Gi')) >= 0` is not true on gpu-0 of "
            "pool h100 (memory 81559Mi)",
        ),
        (
            DRIVER + ATTRIBUTES + ".driverVersion.compareTo(semver('v580.1')) >= 0",
            "semver('v580.1') is a run-time error: that is not a semver",
        ),
        (
            "device.foo == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'foo' (Kubernetes 1.36)",
        ),
    ],
)
def test_reports_impossible_objects_as_errors(expression: str, what: str) -> None:
    [finding] = found(expression)
    assert (finding.severity, finding.what, finding.line) == ("error", what, 7)


@pytest.mark.parametrize(
    "expression", ["dyn(device).driver == 'gpu.nvidia.com'", "device.?driver.hasValue()"]
)
def test_claims_of_a_class_that_cannot_be_evaluated_are_not_checked(expression: str) -> None:
    claim = (
        "\n---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: big}}]}}\n"
    )
    [finding] = found(expression + claim)
    assert (finding.severity, finding.line) == ("warning", 7)
    assert finding.what.startswith("cannot be checked here")


@pytest.mark.parametrize("field", ["driver", "attributes", "capacity"])
def test_a_device_has_all_its_fields(field: str) -> None:
    assert found(DRIVER + f"has(device.{field})") == []


def test_a_class_named_for_mig_must_not_hold_whole_gpus() -> None:
    [finding] = found("device.driver == 'gpu.nvidia.com'", name="team-mig")
    assert finding.what == (
        "is named for MIG partitions but hands out whole GPUs too: "
        "4 of type gpu in pool a100, 8 of type gpu in pool h100 per node"
    )
    assert found(finding.fix, name="team-mig") == []


def test_a_clause_on_a_value_no_one_knows_is_no_error() -> None:
    assert found(DRIVER + ATTRIBUTES + ".driverVersion.compareTo(semver('570.0.0')) >= 0") == []


def test_reports_fields_that_a_version_drops() -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: big}\nspec:\n"
        "  extendedResourceName: example.com/gpu\n  selectors: [{cel: {expression: \"device.driver == 'gpu.nvidia.com'\"}}]\n"
    )
    stack = ROOT / "tests/data/recipes/s2/corrected-stack.yaml"
    [finding] = check(plan_of(stack), [ManifestFile(name="f.yaml", data=text.encode())])
    assert finding.line == 5
    assert finding.what == (
        "Kubernetes 1.35 drops this field silently: feature gate DRAExtendedResource is off there; it is on "
        "from 1.36"
    )
