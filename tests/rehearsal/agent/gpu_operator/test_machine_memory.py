"""What a machine remembers is written to its node and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.agent.machines import Memory
from dra_fleet.rehearsal.drivers.nvidia.machine import driver_version, layouts_text, read_layouts
from dra_fleet.rehearsal.drivers.nvidia.operator.roles import Role
from tests.rehearsal.agent.gpu_operator.operator_objects import pod_of, read_policy

if TYPE_CHECKING:
    from dra_fleet.rehearsal.drivers.nvidia.operator.mig_config import Layouts


@pytest.mark.parametrize(
    "memory",
    [
        Memory(),
        Memory(kept={"nvidia": "[]"}, boots=2),
        Memory(kept={"one": "a", "other": "b"}, boots=1, down=True),
    ],
)
def test_a_memory_survives_being_written(memory: Memory) -> None:
    assert Memory.read(memory.text()) == memory


@pytest.mark.parametrize("layouts", [((("1g.10gb", 7),), None, ()), ((),)])
def test_partitions_survive_being_remembered(layouts: Layouts) -> None:
    assert read_layouts(layouts_text(layouts)) == layouts


def test_the_drivers_version_is_in_its_image() -> None:
    pod = pod_of(Role.DRIVER, now=read_policy(driver={"image": "driver", "version": "595.91.07"}))
    assert driver_version(pod) == "595.91.07"
