from pathlib import Path

import pytest

from dra_fleet.drivers.nvidia.simulation import node_side
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.session import resolve
from dra_fleet.rehearsal.tools import ToolsError, ensure
from tests.rehearsal.tools.tool_workshop import Workshop

CAPACITY = Path(__file__).parents[3] / "examples" / "any-gpu-by-memory.yaml"


@pytest.mark.slow
def test_a_first_run_builds_no_driver(workshop: Workshop) -> None:
    workshop.put_go()
    ensure()
    assert not [entry.name for entry in (workshop.cache.root / "tools").glob("gpu-kubelet-plugin*")]


def test_without_a_c_compiler_a_driver_that_calls_c_cannot_be_built(workshop: Workshop) -> None:
    workshop.put_go()
    with pytest.raises(ToolsError) as refused:
        node_side.gpu_plugin("0.5.0")
    assert str(refused.value) == (
        "NVIDIA's gpu-kubelet-plugin v0.5.0 calls C and there is no C compiler on PATH; "
        "install gcc or clang. The simulated drivers need none"
    )


def test_without_a_c_compiler_the_simulated_plugin_serves_and_that_is_said(workshop: Workshop) -> None:
    workshop.put_go()
    plan = make_plan(read_stack_file(CAPACITY).settings)
    served, notes = resolve(plan, {"nvidia": "real"}, Silent())
    assert served.programs == {}
    (note,) = notes
    assert note == (
        "driver nvidia 0.5.0 is simulated: NVIDIA's gpu-kubelet-plugin v0.5.0 calls C and there is no C "
        "compiler on PATH; install gcc or clang. The simulated drivers need none"
    )


def test_with_a_c_compiler_it_is_built_from_its_module_and_kept(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put("clang", prints="clang version 21")
    built = node_side.gpu_plugin("0.4.1")
    assert built.read_text(encoding="utf-8") == "built"
    assert node_side.gpu_plugin("0.4.1") == built


def test_a_version_without_a_module_is_named_with_those_that_have_one() -> None:
    with pytest.raises(ToolsError) as refused:
        node_side.gpu_plugin("25.8.1")
    assert str(refused.value) == (
        "NVIDIA's driver 25.8.1 cannot be built, for no module of it is pinned here; allowed: 0.4.1, 0.5.0"
    )
