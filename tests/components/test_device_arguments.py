from typing import Any

from components.claim import Claim, ClaimArgs, DeviceClass, DeviceClassArgs
from components.core.identity import Identity
from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
from dra_fleet.testing import Recorder

OPAQUE = {
    "driver": "gpu.nvidia.com",
    "parameters": {"apiVersion": "resource.nvidia.com/v1beta1", "snake_key": {"other_key": [1, None]}},
}
SELECTORS = [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]
REQUIREMENTS: dict[str, Any] = {
    "deviceClassName": "gpu",
    "selectors": SELECTORS,
    "allocationMode": "ExactCount",
    "count": 2,
    "tolerations": [
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 0},
        {"operator": "Exists"},
    ],
    "capacity": {"requests": {"memory": "20Gi", "gpu.nvidia.com/cores": "7"}},
    "derivedAttributes": [{"name": "example.com/side", "expression": "'left'"}],
}
CLAIM: dict[str, Any] = {
    "devices": {
        "requests": [
            {"name": "one", "exactly": {**REQUIREMENTS, "adminAccess": False}},
            {"name": "all", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
            {"name": "any", "firstAvailable": [{**REQUIREMENTS, "name": "first"}]},
        ],
        "constraints": [
            {"requests": ["one"], "matchAttribute": "resource.kubernetes.io/pcieRoot"},
            {"distinctAttribute": "gpu.nvidia.com/uuid"},
            {"requests": ["one", "any"], "matchAttribute": "example.com/side"},
        ],
        "config": [{"requests": ["any/first"], "opaque": OPAQUE}],
    }
}
CLASS: dict[str, Any] = {
    "selectors": SELECTORS,
    "config": [{"opaque": OPAQUE}],
    "extendedResourceName": "example.com/gpu",
}


def fields(model: type[DeviceModel], sample: Any) -> None:
    """The sample uses every field that the model has, all the way down."""
    used = {key for value in _mappings(sample) for key in value}
    known = {cls.__name__: cls for cls in _below(DeviceModel)}
    parts = model.model_json_schema(by_alias=True).get("$defs", {}).keys() & known.keys()
    for part in [model, *(known[name] for name in parts)]:
        names = {info.alias for info in part.model_fields.values() if info.alias is not None}
        assert names <= used, f"{part.__name__} has {sorted(names - used)}, which the sample omits"


def _below(model: type[DeviceModel]) -> list[type[DeviceModel]]:
    return [found for cls in model.__subclasses__() for found in (cls, *_below(cls))]


def _mappings(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in _mappings(item))]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if isinstance(value, list):
        return [found for item in value for found in _mappings(item)]  # pyright: ignore[reportUnknownVariableType] - JSON
    return []


def test_the_samples_use_every_field_of_the_models() -> None:
    fields(ClaimSpec, CLAIM)
    fields(DeviceClassSpec, CLASS)


def test_a_claim_reaches_the_engine_as_its_model_says(recorder: Recorder) -> None:
    spec = ClaimSpec.from_object(CLAIM)
    args = ClaimArgs(name="shared", namespace="ml", spec=spec, identity=Identity(owner="ml"))
    recorder.run(lambda: Claim("lab-shared", args))
    claim = recorder.only("kubernetes:resource.k8s.io/v1:ResourceClaim")
    assert claim.inputs["spec"] == spec.to_object()
    assert claim.delete_before_replace
    assert claim.replace_on_changes == ("spec",)


def test_a_class_reaches_the_engine_as_its_model_says(recorder: Recorder) -> None:
    spec = DeviceClassSpec.from_object(CLASS)
    args = DeviceClassArgs(name="big", spec=spec, identity=Identity(owner="ml"))
    recorder.run(lambda: DeviceClass("lab-big", args))
    device_class = recorder.only("kubernetes:resource.k8s.io/v1:DeviceClass")
    assert device_class.inputs["spec"] == spec.to_object()
    assert device_class.inputs["metadata"]["name"] == "big"
    assert device_class.replace_on_changes == ()
