import pytest

from dra_fleet import drivers


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
