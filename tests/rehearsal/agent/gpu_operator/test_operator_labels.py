from collections.abc import Callable, Mapping

import pytest

from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.operator.labels import changes, is_mig_capable
from dra_fleet.drivers.nvidia.simulation.operator.mig_config import built_in, choose
from dra_fleet.drivers.nvidia.simulation.operator.mig_manager import (
    SUCCESS,
    Action,
    MigStep,
    Situation,
    next_step,
)
from scripts.record_labels import MODULE, RECIPE, LabelCase, differences, label_cases, labels, recorded_labels
from tests.rehearsal.agent.gpu_operator.operator_objects import host, read_policy

FOUND = {"feature.node.kubernetes.io/pci-10de.present": "true"}
DEPLOY = "nvidia.com/gpu.deploy."


def test_a_node_whose_gpu_was_found_lets_the_operands_in() -> None:
    change = changes(FOUND, read_policy())
    assert change.pop("nvidia.com/gpu.present") == "true"
    assert set(change.values()) == {"true"}
    assert {key.removeprefix(DEPLOY) for key in change} == {
        *("driver", "gpu-feature-discovery", "container-toolkit", "device-plugin", "dcgm", "dcgm-exporter"),
        *("node-status-exporter", "operator-validator"),
    }


def test_later_operators_label_clients_too() -> None:
    assert f"{DEPLOY}client" in changes(FOUND, read_policy("v26.7.0"))


def test_a_labelled_node_where_discovery_finds_nothing_loses_the_label() -> None:
    labels = {"nvidia.com/gpu.present": "true", f"{DEPLOY}driver": "true"}
    assert changes(labels, read_policy()) == {"nvidia.com/gpu.present": "false", f"{DEPLOY}driver": None}


def test_a_node_without_gpus_is_left_alone() -> None:
    assert changes({"kubernetes.io/os": "linux"}, read_policy()) == {}


def test_values_that_are_there_are_honoured() -> None:
    paused = {f"{DEPLOY}gpu-feature-discovery": "paused-for-mig-change", f"{DEPLOY}driver": "pre-installed"}
    assert not set(changes({**FOUND, **paused}, read_policy())) & set(paused)


def test_operands_can_be_kept_off_a_node() -> None:
    labels = {**FOUND, f"{DEPLOY}operands": "false", f"{DEPLOY}driver": "true"}
    assert changes(labels, read_policy()) == {"nvidia.com/gpu.present": "true", f"{DEPLOY}driver": None}


def test_a_capable_node_without_a_layout_is_labelled_all_disabled_and_then_success() -> None:
    """https://github.com/NVIDIA/gpu-operator/blob/v26.3.3/controllers/state_manager.go, `labelGPUNodes`."""
    change = changes({**FOUND, "nvidia.com/mig.capable": "true"}, read_policy())
    assert change[f"{DEPLOY}mig-manager"] == "true"
    assert change["nvidia.com/mig.config"] == "all-disabled"
    gpus = parts_of(host()).gpus
    layouts = choose(built_in({gpu.model.name: gpu.model for gpu in gpus}.values()), "all-disabled", gpus)
    whole = Situation(state=None, requested=layouts, current=tuple(None for _ in gpus))
    assert next_step(whole) == MigStep(Action.SUCCEED)
    assert SUCCESS == "success"


def test_a_layout_that_is_asked_for_stays() -> None:
    labels = {**FOUND, "nvidia.com/mig.capable": "true", "nvidia.com/mig.config": "all-1g.10gb"}
    assert "nvidia.com/mig.config" not in changes(labels, read_policy())


def test_without_the_mig_manager_no_layout_is_set() -> None:
    labels = {**FOUND, "nvidia.com/mig.capable": "true"}
    assert "nvidia.com/mig.config" not in changes(labels, read_policy(migManager={"enabled": False}))


@pytest.mark.parametrize(
    ("labels", "capable"),
    [
        ({"nvidia.com/mig.capable": "false", "nvidia.com/gpu.product": "NVIDIA-A100"}, False),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}, True),
        ({"nvidia.com/gpu.product": "NVIDIA-A10"}, False),
        ({"nvidia.com/mig.capable": "true", "nvidia.com/vgpu.host-driver-version": "19.0"}, False),
    ],
)
def test_capable_of_mig_is_what_labels_say(labels: dict[str, str], capable: bool) -> None:
    assert is_mig_capable(labels) is capable


@pytest.mark.parametrize("default", ["all-1g.10gb", ""])
def test_a_default_layout_other_than_none_at_all_is_no_label_of_the_operator_s(default: str) -> None:
    labels = {**FOUND, "nvidia.com/mig.capable": "true"}
    now = read_policy(migManager={"config": {"default": default}})
    assert "nvidia.com/mig.config" not in changes(labels, now)


def test_all_machines_and_layouts_are_recorded_of_the_module_that_is_pinned() -> None:
    assert set(recorded_labels()["labels"]) == {case.key for case in label_cases()}
    assert recorded_labels()["module"] == f"{MODULE} {RECIPE.version}"


# https://github.com/NVIDIA/k8s-device-plugin/tree/v0.19.0/cmd/gpu-feature-discovery
def test_every_label_is_what_gpu_feature_discovery_says(
    compared: Callable[[str, Mapping[str, int]], None],
) -> None:
    found = {case.key: differences(case) for case in label_cases()}
    differ = {key: output for key, output in found.items() if output}
    equal = len(found) - len(differ)
    compared("NVIDIA's own GPU feature discovery", {"cases": len(found), "equal": equal})
    assert differ == {}


@pytest.mark.full
@pytest.mark.engine
@pytest.mark.parametrize(
    "case", [case for case in label_cases() if case.machine == "hgx-h100-8"], ids=lambda case: case.key
)
def test_gpu_feature_discovery_still_says_what_is_recorded(case: LabelCase) -> None:
    assert labels(case) == recorded_labels()["labels"][case.key]
