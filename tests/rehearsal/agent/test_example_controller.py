"""The example driver's controller says which devices are ready to be bound.

Source: https://github.com/kubernetes-sigs/dra-example-driver/blob/v0.4.0/cmd/dra-example-controller/plugins/bindingconditions.go.
"""

from typing import TYPE_CHECKING, Any, cast

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.example.simulation.node_side import made_ready, start_problem

if TYPE_CHECKING:
    from dra_fleet.rehearsal.simulator.node import Host

DRIVER = "gpu.example.com"
NAMED = {"driver": DRIVER, "pool": "n1", "device": "gpu-0"}


def claim(*devices: Object, driver: str = DRIVER, waits_for: list[str] | None = None) -> dict[str, Any]:
    result = {**NAMED, "driver": driver, "request": "gpu", "bindingConditions": waits_for or []}
    status = {"allocation": {"devices": {"results": [result]}}, "devices": list(devices)}
    return {"metadata": {"name": "c"}, "status": status}


def output(made: Object) -> list[tuple[str, str]]:
    devices: list[Object] = made["status"]["devices"]
    return [(item["type"], item["status"]) for device in devices for item in device["conditions"]]


def test_each_condition_that_a_device_is_bound_by_is_set() -> None:
    made = made_ready(claim(waits_for=["Attached", "Configured"]), DRIVER)
    assert output(made) == [("Attached", "True"), ("Configured", "True")]
    [device] = made["status"]["devices"]
    assert {key: device[key] for key in NAMED} == NAMED
    assert (device["conditions"][0]["reason"], device["conditions"][0]["message"]) == (
        "Ready",
        "Device is ready",
    )


def test_a_condition_that_was_false_becomes_true_and_others_are_kept() -> None:
    there = [{"type": "Attached", "status": "False"}, {"type": "Cooled", "status": "False"}]
    made = made_ready(claim({**NAMED, "conditions": there}, waits_for=["Attached"]), DRIVER)
    assert output(made) == [("Cooled", "False"), ("Attached", "True")]


@pytest.mark.parametrize(
    "left",
    [
        claim(),
        claim(driver="other.example.com", waits_for=["Attached"]),
        claim({**NAMED, "conditions": [{"type": "Attached", "status": "True"}]}, waits_for=["Attached"]),
        {"metadata": {"name": "c"}},
        {"metadata": {"name": "c"}, "status": {}},
    ],
)
def test_pods_that_wait_for_nothing_are_not_changed(left: Object) -> None:
    assert made_ready(left, DRIVER) == left


def pod(*arguments: str, command: str = "dra-example-controller") -> Object:
    return {"spec": {"containers": [{"name": "controller", "command": [command], "args": list(arguments)}]}}


def test_an_unknown_plugin_of_the_controller_ends_it() -> None:
    host = cast("Host", None)
    found = start_problem(pod("--driver-name=gpu.example.com", "--enable-plugin=Ready"), host)
    assert found is not None
    assert found.problem == (
        'controller: invalid value "Ready" for flag -enable-plugin: unknown plugin "Ready" (available: '
        "BindingConditions)"
    )
    assert start_problem(pod("--enable-plugin=BindingConditions"), host) is None
    assert start_problem(pod("--enable-plugin=Ready", command="other"), host) is None
