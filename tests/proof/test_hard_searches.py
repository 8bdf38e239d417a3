from collections.abc import Callable, Hashable
from typing import Any

import pytest

from dra_fleet.model.nodes import NODE
from dra_fleet.proof.allocator import CandidateNode, DeviceId, Steps, allocate_alike
from dra_fleet.proof.demand.asks import ask_of, class_objects
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search.packing import NodeUse
from dra_fleet.proof.search.placements import GIVEN_UP, MOST_STEPS, SIMPLE_STEPS, TOO_LARGE, Placements
from dra_fleet.proof.supply.prediction import inventory_of, predict
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool, proved

ROOT = "resource.kubernetes.io/pcieRoot"
PARENT = "gpu.nvidia.com/parentUUID"
SEVENTHS = {"strategy": "mig", "layout": {"1g.5gb": 7}}
MACHINES: dict[str, Any] = {
    "gpus": pool("hgx-h100-8", "p"),
    "parts": pool("dgx-a100-40-8", "p", sharing=SEVENTHS),
    "many": pool({**gpus(32), "cpus": 256}, "p"),
}


def request(class_name: str, count: int) -> dict[str, Any]:
    return {"devices": {"class": class_name, "count": count}}


def on(machine: str, claim: dict[str, Any], minor: str = "1.36") -> tuple[str, str]:
    """The word for one copy of a claim on one machine, and why."""
    settings = fleet({"p": MACHINES[machine]}, claims={"c": claim}, workloads={"w": ("c", 1)})
    (workload,) = proved({**settings, "kubernetes": minor}).workloads
    return workload.word, workload.reason


@pytest.mark.parametrize(
    ("machine", "class_name", "attribute"),
    [("gpus", "gpu.nvidia.com", ROOT), ("parts", "mig.nvidia.com", PARENT)],
)
def test_eight_devices_that_can_never_have_an_attribute_in_common_never_fit(
    machine: str, class_name: str, attribute: str
) -> None:
    claim = {"requests": request(class_name, 8), "constraints": [{"matchAttribute": attribute}]}
    assert on(machine, claim)[0] == "never"


def test_nine_devices_of_eight_distinct_values_never_fit_where_all_values_are_remembered() -> None:
    claim = {"requests": request("mig.nvidia.com", 9), "constraints": [{"distinctAttribute": PARENT}]}
    assert on("parts", claim, "1.37")[0] == "never"


@pytest.mark.slow
def test_the_search_stops_as_the_scheduler_s_if_only_the_last_value_is_remembered() -> None:
    # Kubernetes 1.36 remembers one value per request, so that 8**8 ways are tried; it gives up after 10 s:
    # structured/internal/incubating/constraint.go of v0.36.3.
    claim = {"requests": request("mig.nvidia.com", 9), "constraints": [{"distinctAttribute": PARENT}]}
    assert on("parts", claim) == ("unknown", GIVEN_UP)


def test_thirty_two_requests_find_thirty_two_devices() -> None:
    guard = "device.attributes['gpu.nvidia.com'].architecture != 'x{}'"
    requests = {
        f"r{number}": {"class": "gpu.nvidia.com", "selectors": [guard.format(number)]} for number in range(32)
    }
    assert on("many", {"requests": requests})[0] == "guaranteed"


@pytest.mark.slow
def test_the_steps_of_all_searches_of_a_proof_are_bounded_together() -> None:
    cluster = plan_of(fleet({"p": MACHINES["parts"]})).clusters[0]
    classes = class_objects(cluster)
    (group,) = predict(cluster)
    exactly = {"deviceClassName": "mig.nvidia.com", "count": 9}
    steps = Steps(MOST_STEPS + 2 * SIMPLE_STEPS)
    placements = Placements(classes, "1.36", steps)
    output: list[str] = []
    for number in range(3):
        spec = {
            "requests": [{"name": f"r{number}", "exactly": exactly}],
            "constraints": [{"distinctAttribute": PARENT}],
        }
        with pytest.raises(Undecidable) as problem:
            placements.place(ask_of("c", {"devices": spec}, classes), group.shape, NodeUse())
        output.append(str(problem.value))
    assert output == [GIVEN_UP, TOO_LARGE, TOO_LARGE]
    assert steps.left == 0


class Devices:
    """Devices in any order, all as good as each other or none; counts how often that is asked."""

    drivers = frozenset({"gpu.nvidia.com"})
    first_only = False

    def __init__(self, *, are_alike: bool) -> None:
        self.are_alike = are_alike
        self.asked = 0

    def kinds(self, taken: object) -> Callable[[DeviceId], Hashable]:
        del taken
        self.asked += 1
        return (lambda _device: "") if self.are_alike else (lambda device: device)


def steps_of(count: int, devices: Devices) -> tuple[int, int]:
    """Solutions for a claim of so many of 32 devices, and steps until all are found."""
    cluster = plan_of(fleet({"p": MACHINES["many"]})).clusters[0]
    (group,) = predict(cluster)
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": count}
    claim = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    steps = Steps(MOST_STEPS)
    found = allocate_alike(
        [claim],
        class_objects(cluster),
        inventory_of(group.shape),
        CandidateNode(NODE, group.shape.labels),
        in_use=NodeUse().for_allocator,
        minor="1.36",
        alike=devices,
        steps=steps,
    )
    return len(found), MOST_STEPS - steps.left


def test_to_find_out_which_devices_are_alike_counts_as_a_step_for_each() -> None:
    devices = Devices(are_alike=True)
    solutions, steps = steps_of(8, devices)
    assert (solutions, devices.asked) == (1, 8)
    assert steps >= 8 * 32 + solutions * 16


def test_to_report_what_a_solution_leaves_counts_as_a_step_for_each_two_devices() -> None:
    devices = Devices(are_alike=False)
    solutions, steps = steps_of(2, devices)
    assert solutions == 32 * 31 // 2
    assert steps >= devices.asked * 32 + solutions * 16
