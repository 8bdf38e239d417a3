import sys
from pathlib import Path

import pytest

from dra_fleet import drivers
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.session import choices, runnable
from dra_fleet.rehearsal.simulator.served_by import ANY, ServedBy


def test_the_command_line_counts_before_the_hardware_file() -> None:
    described = {"nvidia": "real"}
    assert choices((), described) == described
    assert choices(["nvidia=/bin/driver"], described) == {"nvidia": "/bin/driver"}
    assert choices(["simulated", "example=/x"], described) == {
        **dict.fromkeys(drivers.names(), "simulated"),
        "example": "/x",
    }


@pytest.mark.parametrize(
    ("option", "text"),
    {
        "fake": "--drivers fake: say simulated, real or DRIVER=PATH",
        "nvidia=": "--drivers nvidia=: say simulated, real or DRIVER=PATH",
        "nvidea=/x": "there is no driver nvidea to choose a program for; allowed: nvidia, amd, intel, tpu, "
        "dranet, dracpu, example",
    }.items(),
)
def test_other_choices_are_refused(option: str, text: str) -> None:
    with pytest.raises(RehearsalError) as refused:
        choices([option], {})
    assert str(refused.value) == text


def test_a_script_and_a_program_of_this_machine_may_serve(tmp_path: Path) -> None:
    script = tmp_path / "driver"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert runnable("example", script) == script
    assert runnable("example", type(tmp_path)(sys.executable)).is_file()


def test_rejects_tools_that_cannot_run_here(tmp_path: Path) -> None:
    program = tmp_path / "driver"
    with pytest.raises(RehearsalError, match=r"driver: there is no such file$"):
        runnable("example", program)
    program.write_bytes(b"\x7fELF" + bytes(14) + (0x16).to_bytes(2, "little"))
    with pytest.raises(RehearsalError, match=r"driver: the file is not executable; chmod \+x it$"):
        runnable("example", program)
    program.chmod(0o755)
    with pytest.raises(
        RehearsalError, match=r"the program is for another architecture, this machine is \w+; build"
    ):
        runnable("example", program)


def test_the_home_remembers_chosen_tools(tmp_path: Path) -> None:
    home, program = Home.at(tmp_path), tmp_path / "driver"
    assert ServedBy.read(home).program("nvidia", "0.5.0") is None
    ServedBy(programs={"nvidia": {"0.5.0": program}, "example": {ANY: program}}).write(home)
    found = ServedBy.read(home)
    assert found.program("nvidia", "0.5.0") == program
    assert found.program("nvidia", "0.4.1") is None
    assert found.program("example", "0.4.0") == program
