import pytest

from dra_fleet.drivers.divided_devices import DeviceSelection, dividable, known_whole_taken

TYPE = "device.attributes['gpu.nvidia.com'].type"
WHOLE = [(device.title, device.cel) for each in dividable() for device in each.whole()]
EVERY = [title for title, _ in WHOLE]


def taken(expression: str, *, divided: bool) -> tuple[str, ...]:
    return known_whole_taken((expression,), dividable(), divided=divided)


@pytest.mark.parametrize("divided", [True, False])
@pytest.mark.parametrize(
    "expression", [f"{TYPE} == 'mig'", f"{TYPE} == 'gpu'", "device.driver == 'other.example.com'", "no CEL ="]
)
def test_selectors_of_one_kind_take_nothing_of_the_other(expression: str, *, divided: bool) -> None:
    assert taken(expression, divided=divided) == ()


@pytest.mark.parametrize("expression", ["true", "device.driver.startsWith('gpu.')", f"{TYPE} != 'vgpu'"])
def test_selectors_of_every_device_are_too_wide_only_where_devices_are_divided(expression: str) -> None:
    assert taken(expression, divided=True) == tuple(EVERY)
    assert taken(expression, divided=False) == ()


@pytest.mark.parametrize("divided", [True, False])
def test_selectors_that_name_partitions_are_meant_for_them_wherever_they_hold(*, divided: bool) -> None:
    named = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA A100-SXM4-40GB'"
    selection = DeviceSelection.of([named])
    assert selection is not None
    asked = [title for title, device in WHOLE if selection.selects(device) in ("yes", "maybe")]
    assert "NVIDIA A100-SXM4-40GB" in asked
    assert taken(f"{TYPE} == 'mig' || {named}", divided=divided) == tuple(asked)
