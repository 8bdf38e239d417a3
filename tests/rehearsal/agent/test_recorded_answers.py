import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from dra_fleet.drivers.common.parameters import check_parameters
from dra_fleet.drivers.installed import Installed
from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.drivers.nvidia.simulation import node_side
from scripts.record import Recorder
from scripts.record_prepared import (
    GATES,
    PARTITION,
    REQUEST,
    WHOLE,
    Asked,
    Asking,
    asked,
    parameters,
    recorded_answers,
    simulated,
)
from scripts.recorded_slices import GPUS
from scripts.slices_api import slices_api

VERSIONS = node_side.versions()


def test_all_claims_are_recorded_of_the_modules_that_are_pinned() -> None:
    assert set(recorded_answers()["answers"]) == {one.key for version in VERSIONS for one in asked(version)}
    assert recorded_answers()["modules"] == {
        version: f"{node_side.DRIVER} {node_side.recipe(version).version}" for version in VERSIONS
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_claim_is_prepared_or_refused_in_the_words_of_the_driver(
    version: str, compared: Callable[[str, Mapping[str, int]], None]
) -> None:
    answers = recorded_answers()["answers"]
    said = {one.key: simulated(one) for one in asked(version)}
    differ = {key: (answer, answers[key]) for key, answer in said.items() if answer != answers[key]}
    equal = len(said) - len(differ)
    compared(f"NVIDIA's own driver {version}, prepared claims", {"cases": len(said), "equal": equal})
    assert differ == {}


@pytest.mark.parametrize("gates", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_proof_accepts_exactly_the_parameters_that_the_driver_applies(version: str, gates: bool) -> None:
    """Parameters are compared with the type of the allocated device when devices are known."""
    chart = DRIVER.facts.version(version)
    assert chart is not None
    running = Installed(driver=DRIVER, version=chart, values={"featureGates": dict.fromkeys(GATES, gates)})
    answers = recorded_answers()["answers"]
    differ: list[tuple[object, str]] = []
    for given in parameters():
        device = PARTITION if given.get("kind") == "MigDeviceConfig" else WHOLE
        key = Asked(version=version, gates=gates, device=device, configs=(((REQUEST,), given),)).key
        answer = answers.get(key, "")  # MPS that is accepted is not recorded
        of_devices = any(words in answer for words in ("cannot apply", "invalid device index"))
        if not of_devices and bool(answer) != bool(check_parameters(GPUS, given, running)):
            differ.append((given, answer))
    assert differ == []


@pytest.mark.full
@pytest.mark.engine
def test_the_driver_still_answers_what_is_recorded() -> None:
    some = asked(VERSIONS[-1])[::20]
    with tempfile.TemporaryDirectory() as folder, slices_api() as api:
        plugin = node_side.gpu_plugin(VERSIONS[-1])
        found = Asking(Recorder(plugin=plugin, api=api, calls=Path(folder) / "calls")).answers(some)
    assert found == {one.key: recorded_answers()["answers"][one.key] for one in some}
