from collections.abc import Callable, Mapping

import pytest

from scripts.record_labels import MODULE, RECIPE, LabelCase, differences, label_cases, labels, recorded_labels


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
