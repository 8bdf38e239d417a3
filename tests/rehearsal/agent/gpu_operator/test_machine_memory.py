from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from dra_fleet.drivers.nvidia.simulation.hardware import DRIVER_NAME, parts_of
from dra_fleet.drivers.nvidia.simulation.machine import driver_version, kept_text
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role
from dra_fleet.rehearsal.agent.machines import MEMORY, Machines, Memory
from dra_fleet.rehearsal.agent.view import ClusterView
from dra_fleet.rehearsal.agent.work_queue import WorkQueue
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from tests.rehearsal.agent.agent_cluster import HARDWARE
from tests.rehearsal.agent.fake_api import FakeApi
from tests.rehearsal.agent.gpu_operator.operator_objects import pod_of, read_policy

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.drivers.nvidia.simulation.operator.mig_config import Layouts
    from dra_fleet.rehearsal.agent.identity import Identities


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


def test_a_machine_is_as_it_was_changed_from_the_first_look_of_an_agent_that_starts_again() -> None:
    api, queue = cast("KubeApi", FakeApi()), WorkQueue()
    hosts = {host.name: host for host in ClusterHardware.model_validate(HARDWARE).hosts()}
    view = ClusterView(api, queue, hosts)
    layouts: Layouts = ((("1g.5gb", 7),), None)
    shared = replace(parts_of(hosts["whole-0"]), shared=("time-slicing", 4))
    memory = Memory(kept={DRIVER_NAME: kept_text(shared, layouts)}, boots=1)
    view.nodes.objects["whole-0"] = {"metadata": {"name": "whole-0", "annotations": {MEMORY: memory.text()}}}

    machines = Machines(api, cast("Identities", None), view, queue, hosts)

    assert tuple(gpu.mig for gpu in parts_of(machines.host("whole-0")).gpus) == layouts
    assert parts_of(machines.host("whole-0")).shared == ("time-slicing", 4)
    assert machines.memory("whole-0") == memory
    assert machines.memory("parts-0") == Memory()


def test_the_drivers_version_is_in_its_image() -> None:
    pod = pod_of(Role.DRIVER, now=read_policy(driver={"image": "driver", "version": "595.91.07"}))
    assert driver_version(pod) == "595.91.07"
