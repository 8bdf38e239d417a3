import copy
from random import Random
from typing import Any

import pytest

from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.kubernetes.devices.validate import API_VERSION, validate_object
from tests.kubernetes.devices.random_objects import ObjectMaker

CLAIM: dict[str, Any] = {
    "apiVersion": API_VERSION,
    "kind": "ResourceClaim",
    "metadata": {"name": "c"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}},
                {"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "x"}]},
            ],
            "constraints": [
                {"requests": ["gpu", "any/a"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}
            ],
            "config": [{"requests": ["any"], "opaque": {"driver": "d", "parameters": {}}}],
        }
    },
}


@pytest.fixture
def claim() -> dict[str, Any]:
    return copy.deepcopy(CLAIM)


@pytest.fixture
def devices(claim: dict[str, Any]) -> dict[str, Any]:
    return claim["spec"]["devices"]


def output(claim: dict[str, Any], minor: str = "1.36") -> list[tuple[str, str, bool]]:
    return [
        (problem.path, problem.what, problem.server)
        for problem in validate_object("ResourceClaim", claim, minor)
    ]


def test_a_valid_claim_has_no_problem(claim: dict[str, Any]) -> None:
    assert output(claim) == []


def test_defaults_are_written_as_the_server_stores_them(claim: dict[str, Any]) -> None:
    stored = ClaimSpec.from_object(claim["spec"]).to_object()
    assert stored["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "gpu.nvidia.com",
        "allocationMode": "ExactCount",
        "count": 1,
    }
    assert stored["devices"]["config"][0]["opaque"] == {"driver": "d", "parameters": {}}
    assert ClaimSpec.from_object(stored).to_object() == stored


def test_all_devices_are_written_without_a_count() -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "a", "allocationMode": "All"}}
    stored = ClaimSpec.from_object({"devices": {"requests": [request]}}).to_object()
    assert stored["devices"]["requests"] == [request]


@pytest.mark.parametrize(
    ("change", "path", "what", "server"),
    [
        ({"count": -1}, "count", "must be greater than zero", True),
        ({"count": "1"}, "count", "must be a whole number", True),
        ({"allocationMode": "All", "count": 1}, "count", "must not be set with allocationMode All", True),
        ({"count": 33}, "count", "must be at most 32, the most devices one claim can hold", False),
        (
            {"deviceClassName": "A"},
            "deviceClassName",
            "must be a DNS subdomain: lower-case letters, digits, '-' and '.', each part a DNS label",
            True,
        ),
        ({"adminAccess": "yes"}, "adminAccess", "must be true or false", True),
        (
            {"tolerations": [{"operator": "Exists", "value": "x"}]},
            "tolerations[0].value",
            "must have no value with operator Exists",
            True,
        ),
        (
            {"tolerations": [{"value": "x"}]},
            "tolerations[0].operator",
            "must have operator Exists when the key is empty",
            False,
        ),
        (
            {"selectors": [{"cel": {"expression": "x" * 10241}}]},
            "selectors[0].cel.expression",
            "must be at most 10240 bytes, this is 10241",
            True,
        ),
    ],
)
def test_a_broken_request_is_reported_with_what_the_server_would_say(
    claim: dict[str, Any],
    devices: dict[str, Any],
    change: dict[str, Any],
    path: str,
    what: str,
    *,
    server: bool,
) -> None:
    devices["requests"][0]["exactly"] |= change
    assert output(claim) == [(f"spec.devices.requests[0].exactly.{path}", what, server)]


def test_a_request_needs_exactly_one_of_its_two_forms(claim: dict[str, Any], devices: dict[str, Any]) -> None:
    devices["requests"][0]["firstAvailable"] = [{"name": "b", "deviceClassName": "x"}]
    assert output(claim) == [
        ("spec.devices.requests[0]", "must have exactly one of exactly and firstAvailable", True)
    ]


def test_both_attributes_in_one_constraint_are_refused_although_the_server_accepts(
    claim: dict[str, Any], devices: dict[str, Any]
) -> None:
    devices["constraints"][0]["distinctAttribute"] = "a/b"
    what = "must not have both matchAttribute and distinctAttribute"
    assert output(claim) == [("spec.devices.constraints[0]", what, False)]


@pytest.mark.parametrize("reference", ["nope", "gpu/a", "any/b", "a/b/c"])
def test_a_reference_must_name_a_request_of_the_claim(
    claim: dict[str, Any], devices: dict[str, Any], reference: str
) -> None:
    devices["config"][0]["requests"] = [reference]
    assert [server for _, _, server in output(claim)] == [True]


def test_more_devices_than_a_claim_can_hold_are_refused(
    claim: dict[str, Any], devices: dict[str, Any]
) -> None:
    devices["requests"][0]["exactly"]["count"] = 32
    assert output(claim) == [("spec.devices.requests", "must ask for at most 32 devices in one claim", False)]


def test_tolerations_on_1_35_are_reported_to_be_dropped(
    claim: dict[str, Any], devices: dict[str, Any]
) -> None:
    devices["requests"][0]["exactly"]["tolerations"] = [{"operator": "Exists"}]
    assert output(claim, "1.35") == [
        (
            "spec.devices.requests[0].exactly.tolerations",
            (
                "Kubernetes 1.35 drops this field silently: feature gate DRADeviceTaints is off there; "
                "it is on from 1.36"
            ),
            False,
        )
    ]
    assert output(claim, "1.36") == []


def test_a_constraint_that_loses_its_only_attribute_is_refused_by_the_server(
    claim: dict[str, Any], devices: dict[str, Any]
) -> None:
    devices["constraints"] = [{"distinctAttribute": "a/b"}]
    assert output(claim, "1.34")[0] == (
        "spec.devices.constraints[0]",
        "must have matchAttribute or distinctAttribute",
        True,
    )
    assert output(claim, "1.36") == []


def test_rejects_unreadable_values_even_in_a_dropped_field(
    claim: dict[str, Any], devices: dict[str, Any]
) -> None:
    devices["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": "1GiB"}}
    assert [server for _, what, server in output(claim, "1.34") if "quantity" in what] == [True]


def test_selectors_are_compiled_where_a_compiler_is_given(
    claim: dict[str, Any], devices: dict[str, Any]
) -> None:
    devices["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "device.foo"}}]
    problems = validate_object("ResourceClaim", claim, "1.36", cel=lambda text, minor: f"{text} on {minor}")
    assert [(problem.path, problem.what) for problem in problems] == [
        ("spec.devices.requests[0].exactly.selectors[0].cel.expression", "device.foo on 1.36")
    ]


@pytest.mark.parametrize("kind", ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"])
def test_an_object_of_another_version_is_refused(kind: str) -> None:
    maker = ObjectMaker(Random(1), 0)
    made = {
        "DeviceClass": maker.device_class,
        "ResourceClaim": maker.claim,
        "ResourceClaimTemplate": maker.template,
    }
    value = made.get(kind, maker.slice)()
    assert validate_object(kind, value, "1.36") == []
    value["apiVersion"] = "resource.k8s.io/v1beta1"
    assert [problem.path for problem in validate_object(kind, value, "1.36")] == ["apiVersion"]


@pytest.mark.parametrize("seed", range(60))
def test_random_objects_are_checked_without_a_traceback(seed: int) -> None:
    broken = Random(seed)
    kind, value = ObjectMaker(broken, 0.05).any()
    for minor in ("1.34", "1.36"):
        validate_object(kind, value, minor)


@pytest.mark.parametrize("seed", range(30))
def test_random_unbroken_objects_are_accepted_at_1_36(seed: int) -> None:
    kind, value = ObjectMaker(Random(seed), 0).any()
    assert [str(problem) for problem in validate_object(kind, value, "1.36") if problem.server] == []


def device_slice(**device: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d.example",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n",
            "devices": [{"name": "d0", **device}],
        },
    }


def paths(kind: str, value: dict[str, Any], minor: str = "1.36") -> list[str]:
    return [problem.path for problem in validate_object(kind, value, minor) if problem.server]


def metadata(claim: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**claim, "metadata": fields}


# Findings about metadata are those of ObjectMeta's validation:
# https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/validation/objectmeta.go.
@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"generateName": "claim-"}, []),
        ({"generateName": "Claim-"}, ["metadata.generateName"]),
        ({}, ["metadata.name"]),
        ({"name": "c", "annotations": {"Example.com/Note": "x"}}, []),
        ({"name": "c", "annotations": {"a note": "x"}}, ["metadata.annotations[a note]"]),
        ({"name": "c", "annotations": {"note": "x" * (256 * 1024 - 4)}}, []),
        ({"name": "c", "annotations": {"note": "x" * (256 * 1024 - 3)}}, ["metadata.annotations"]),
        ({"name": "c", "finalizers": ["example.com/keep", "orphan"]}, []),
        ({"name": "c", "finalizers": ["keep"]}, ["metadata.finalizers[0]"]),
        ({"name": "c", "labels": {"a b": "x"}}, ["metadata.labels[a b]"]),
    ],
)
def test_metadata_is_checked_as_the_server_does(
    claim: dict[str, Any], fields: dict[str, Any], found: list[str]
) -> None:
    assert paths("ResourceClaim", metadata(claim, **fields)) == found


@pytest.mark.parametrize(
    ("limits", "default", "found"),
    [
        ({"min": "500m", "max": "5", "step": "500m"}, "1200m", []),
        ({"min": "500m", "max": "5", "step": "1500m"}, "1200m", ["validRange.step"]),
        ({"min": "1", "max": "5", "step": "2"}, "3", []),
        ({"min": "1", "max": "4", "step": "2"}, "3", ["validRange.step"]),
    ],
)
@pytest.mark.parametrize("minor", ["1.36", "1.37"])
def test_steps_of_a_capacity_are_counted_in_whole_numbers_rounded_up(
    limits: dict[str, str], default: str, found: list[str], minor: str
) -> None:
    # validateRequestPolicyRangeStep of https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource.
    policy = {"default": default, "validRange": limits}
    value = device_slice(
        allowMultipleAllocations=True, capacity={"d.example/share": {"value": "5", "requestPolicy": policy}}
    )
    at = "spec.devices[0].capacity[d.example/share].requestPolicy"
    assert paths("ResourceSlice", value, minor) == [f"{at}.{path}" for path in found]


def test_a_wrong_value_of_a_node_selector_is_found_at_its_place() -> None:
    value = device_slice()
    requirements = [
        {"key": "zone", "operator": "Exists"},
        {"key": "zone", "operator": "In", "values": ["a", "b c"]},
    ]
    del value["spec"]["nodeName"]
    value["spec"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": requirements}]}
    assert paths("ResourceSlice", value) == [
        "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[1].values[1]"
    ]


def test_a_wrong_key_of_a_map_is_found_by_its_key() -> None:
    assert paths("ResourceSlice", device_slice(attributes={"a-b": {"int": 1}})) == [
        "spec.devices[0].attributes[a-b]"
    ]


def test_a_failure_condition_that_is_a_condition_too_is_found_among_the_failures() -> None:
    value = device_slice(bindingConditions=["ready"], bindingFailureConditions=["lost", "ready"])
    assert paths("ResourceSlice", value) == ["spec.devices[0].bindingFailureConditions[1]"]
