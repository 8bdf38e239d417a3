import pytest

from dra_fleet import drivers
from dra_fleet.drivers.divided_devices import DeviceSelection, dividable, known_whole_taken


@pytest.mark.parametrize("driver", [pytest.param(each, id=each.name) for each in drivers.known()])
def test_chart_facts_of_a_driver_name_values_that_its_charts_have(driver: drivers.Driver) -> None:
    newest = driver.facts.versions[-1]
    resources = driver.resources
    keys = [resources.root, "" if resources.publishes is None else resources.publishes.key]
    assert [key for key in keys if key and key not in newest.values] == []
    operator = resources.operator
    if operator is not None:
        switches = (operator.dra, operator.device_plugin, operator.kernel_driver, operator.discovers)
        known = operator.versions()[-1].values
        assert [switch.key for switch in switches if switch.key not in known] == []
        assert operator.root in known


@pytest.mark.parametrize("driver", [pytest.param(each, id=each.name) for each in drivers.known()])
def test_the_class_of_a_driver_s_partitions_is_one_of_its_charts_for_partitions(
    driver: drivers.Driver,
) -> None:
    dividable = driver.resources.dividable
    if dividable is not None:
        assert dividable.is_partition in driver.facts.class_selectors[dividable.partition_class]


def test_node_labels_of_a_vendor_s_software_are_reported_by_its_driver() -> None:
    asked = (
        "nvidia.com/gpu.product",
        "example.com/nvidia.com",
        "feature.node.kubernetes.io/pci-10de.present",
    )
    assert [key for key in asked if drivers.labels_nodes(key)] == ["nvidia.com/gpu.product"]


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
