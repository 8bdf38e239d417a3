"""What a machine remembers is written to its node and read back."""

from __future__ import annotations

import pytest

from dra_fleet.rehearsal.agent.machines import Memory, driver_version
from dra_fleet.rehearsal.drivers.nvidia.operator.roles import Role
from tests.rehearsal.agent.gpu_operator.operator_objects import pod_of, read_policy


@pytest.mark.parametrize(
    "memory",
    [
        Memory(),
        Memory(mig=((("1g.10gb", 7),), None, ()), boots=2),
        Memory(mig=((),), boots=1, down=True),
    ],
)
def test_a_memory_survives_being_written(memory: Memory) -> None:
    assert Memory.read(memory.text()) == memory


def test_the_drivers_version_is_in_its_image() -> None:
    pod = pod_of(Role.DRIVER, now=read_policy(driver={"image": "driver", "version": "595.91.07"}))
    assert driver_version(pod) == "595.91.07"
