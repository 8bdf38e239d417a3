from typing import Any

import pytest

from dra_fleet.kubernetes.devices.gates import GATED_FIELDS, drop_disabled
from dra_fleet.kubernetes.minors import is_on


def example(path: str) -> dict[str, Any]:
    """An object that has a value at a gated path."""
    value: Any = "x"
    for part in reversed(path.split(".")):
        if part.endswith("[]"):
            value = {"k": value} if part in ("capacity[]", "attributes[]") else [value]
        value = {part.removesuffix("[]"): value}
    return value


@pytest.mark.parametrize("minor", ["1.34", "1.35", "1.36", "1.37"])
@pytest.mark.parametrize("kind", GATED_FIELDS)
def test_a_field_is_dropped_exactly_where_its_gate_is_off(kind: str, minor: str) -> None:
    for path, gate in GATED_FIELDS[kind]:
        value = example(path)
        stored, dropped = drop_disabled(kind, value, minor)
        around = [(other, by) for other, by in GATED_FIELDS[kind] if path.startswith(f"{other}[]")]
        off = [by for _, by in [*around, (path, gate)] if not is_on(by, minor)]
        assert (stored == value) is (not off), path
        assert [item.gate for item in dropped] == off[:1], path


def test_an_empty_field_is_not_reported_as_lost() -> None:
    value: dict[str, Any] = {"spec": {"devices": {"requests": [{"exactly": {"tolerations": []}}]}}}
    assert drop_disabled("ResourceClaim", value, "1.34")[1] == ()


def test_the_object_given_is_not_changed() -> None:
    value = example("spec.extendedResourceName")
    drop_disabled("DeviceClass", value, "1.34")
    assert value == {"spec": {"extendedResourceName": "x"}}
