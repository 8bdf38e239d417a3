from collections.abc import Generator

import pytest

from dra_fleet.drivers.nvidia.simulation import node_side
from dra_fleet.drivers.nvidia.simulation.opaque import feature_gates
from dra_fleet.rehearsal.drivers.plugin import StartFailed
from scripts.record import NothingPublished, Recorder
from scripts.recorded_cases import EXCLUSIVE, Case, cases
from scripts.recorded_slices import recorded
from scripts.slices_api import slices_api

pytestmark = [pytest.mark.full, pytest.mark.engine]

MACHINES = ("Standard_NC4as_T4_v3", "hgx-h100-8")
NEWEST = node_side.versions()[-1]


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Generator[Recorder]:
    with slices_api() as api:
        yield Recorder(
            plugin=node_side.gpu_plugin(NEWEST), api=api, calls=tmp_path_factory.mktemp("nvml") / "calls"
        )


def started(gates: dict[str, bool]) -> Case:
    return Case(machine=MACHINES[0], version=NEWEST, mode=EXCLUSIVE, gates=gates)


@pytest.mark.parametrize(
    "case", [case for case in cases(NEWEST) if case.machine in MACHINES], ids=lambda case: case.key
)
def test_the_driver_still_publishes_what_is_recorded(recorder: Recorder, case: Case) -> None:
    assert recorder.record(case) == recorded(NEWEST)["slices"][case.key]


@pytest.mark.parametrize(
    "gates",
    [
        {"DynamicMIG": True, "MPSSupport": True},
        {"PassthroughSupport": True, "NVMLDeviceHealthCheck": True},
        {"DeviceMetadata": True},
    ],
    ids="+".join,
)
def test_gates_end_the_driver_with_the_words_of_the_simulated_one(
    recorder: Recorder, gates: dict[str, bool]
) -> None:
    with pytest.raises(StartFailed) as simulated:
        feature_gates({"FEATURE_GATES": ",".join(f"{gate}=true" for gate in gates)}, NEWEST)
    with pytest.raises(NothingPublished) as real:
        recorder.record(started(gates))
    assert str(real.value) == f"Error: {simulated.value}"


def test_a_function_that_the_simulated_nvml_lacks_is_named(recorder: Recorder) -> None:
    with pytest.raises(NothingPublished) as real:
        recorder.record(started({"NVMLDeviceHealthCheck": True}))
    assert "undefined symbol: nvmlEventSetCreate" in str(real.value)
