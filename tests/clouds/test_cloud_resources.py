import subprocess
import sys
from typing import Any

import pytest

from dra_fleet import drivers
from dra_fleet.clouds.pools import NodePool, PoolForm
from dra_fleet.clouds.resources import CloudResources
from dra_fleet.core.declared.resources import Resource, Stack
from dra_fleet.policy.reading.clouds import all_resources

QUESTIONS = CloudResources.__struct_fields__
CLOUDS = [pytest.param(found, id=str(number)) for number, found in enumerate(all_resources())]
EMPTY = Resource(type="made-up:index:Thing", name="thing", read=dict)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_cloud_without_an_answer_is_reported_with_the_question(question: str) -> None:
    known = all_resources()[0]
    others: dict[str, Any] = {name: getattr(known, name) for name in QUESTIONS if name != question}
    with pytest.raises(TypeError, match=rf"Missing required argument '{question}'$"):
        CloudResources(**others)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_cloud_finds_nothing_wrong_with_pools_and_images_that_say_nothing(cloud: CloudResources) -> None:
    assert all(isinstance(image, str) for image in cloud.gpu_driver_images())
    assert all(name == machine.name for name, machine in cloud.machines().items())
    for form in cloud.pools:
        pool = pool_of(cloud, form)
        assert list(cloud.added_taints(pool)) == []
        assert list(cloud.known_machines(pool)) == []
        assert not any(place.text for place in cloud.partitions(STACK, pool))
        assert list(cloud.unpredicted(pool, True)) == []
        assert list(cloud.wrong_images(STACK, pool, lambda: False)) == []
        assert cloud.gpu_driver_root(pool) in (None, "", "/", "/home/kubernetes/bin/nvidia")
        owner = cloud.gpu_driver_owner(pool)
        assert owner is None or owner.owner or owner.other


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_pool_that_says_nothing_has_no_gpus_no_machines_and_no_labels(cloud: CloudResources) -> None:
    for form in cloud.pools:
        pool = pool_of(cloud, form)
        assert not pool.has_gpus
        assert pool.known_machines(STACK) == []
        assert pool.label("team").absent
        assert pool.taints == []
        assert pool.fewest.absent
        assert pool.name == EMPTY.name


def test_resource_facts_of_clouds_load_neither_settings_nor_plans() -> None:
    program = (
        "import sys; from dra_fleet.policy.reading.clouds import all_resources; all_resources(); "
        "print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = ran.stdout.split()
    assert "dra_fleet.clouds.eks.resources" in loaded
    unwanted = ("settings", "plan", "pulumi")
    assert [name for name in loaded if name.partition("dra_fleet.")[2].rpartition(".")[2] in unwanted] == []
    assert [name for name in loaded if name.partition(".")[0] in unwanted] == []


def pool_of(cloud: CloudResources, form: PoolForm) -> NodePool:
    return NodePool(EMPTY, cloud, form, EMPTY.properties)


STACK = Stack(resources=[EMPTY])


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_gpus_that_a_cloud_reports_are_those_of_a_driver(cloud: CloudResources) -> None:
    assert cloud.gpu_families.keys() <= set(drivers.names())
    known = [driver for driver in drivers.known() if driver.name in cloud.gpu_families]
    named = {
        (name, driver.name): driver.serves(machine)
        for name, machine in cloud.machines().items()
        for driver in known
        if cloud.gpu_families[driver.name].match(name)
    }
    assert [of_driver for of_driver, is_served in named.items() if not is_served] == []
