import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dra_fleet.fleet import SettingsInvalid, read_stack_file
from dra_fleet.fleet.stack_file import LONGEST_VARIABLE, fleet_at, fleet_files, read_fleet

DEV = Path(__file__).parents[2] / "Pulumi.dev.yaml"
NAMES = "config:\n  dra-fleet:fleet: {extends: fleets/large.yaml}\n"


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """A stack file whose fleet (the dev stack) is in another file."""
    (tmp_path / "Pulumi.yaml").write_text("name: acme\nruntime: python\n")
    (tmp_path / "fleets").mkdir()
    (tmp_path / "fleets" / "large.yaml").write_text(DEV.read_text(encoding="utf-8"), encoding="utf-8")
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(NAMES)
    return file


def write(file: Path, fleet: object) -> None:
    content = {"config": {"dra-fleet:fleet": fleet}}
    YAML(typ="safe", pure=True).dump(content, file)  # pyright: ignore[reportUnknownMemberType]


def long_stack(tmp_path: Path, claims: int) -> Path:
    """A stack file with so many claims more than the dev stack."""
    file = tmp_path / "Pulumi.long.yaml"
    fleet = read_fleet(DEV)
    more = {f"c{number}": {"requests": {"gpu": {"class": "l4"}}} for number in range(claims)}
    write(file, {**fleet, "claims": {**fleet["claims"], **more}})
    return file


def test_a_stack_has_the_fleet_of_the_file_that_it_names(stack: Path) -> None:
    read = read_stack_file(stack)
    assert read.name == "prod"
    assert read.settings == read_stack_file(DEV).settings
    assert read.too_long is None
    assert fleet_files(stack) == (stack, stack.parent / "fleets" / "large.yaml")
    assert fleet_files(DEV) == (DEV,)


def test_a_stack_file_in_a_folder_names_from_the_project_s_folder(stack: Path) -> None:
    below = stack.parent / "stacks" / "Pulumi.below.yaml"
    below.parent.mkdir()
    below.write_text(NAMES)
    assert fleet_files(below)[-1] == stack.parent / "fleets" / "large.yaml"


def test_reports_errors_at_their_place_in_the_named_file(stack: Path) -> None:
    large = stack.parent / "fleets" / "large.yaml"
    large.write_text("config:\n  dra-fleet:fleet:\n    clusterz: 1\n")
    with pytest.raises(SettingsInvalid, match=f"at: {large}:3:5"):
        read_stack_file(stack)


def test_a_named_file_that_is_not_there_is_reported_where_it_is_named(stack: Path) -> None:
    (stack.parent / "fleets" / "large.yaml").unlink()
    output = f"names a file that does not exist\n  at: {stack}:2:21\n  got: fleets/large.yaml\n"
    with pytest.raises(SettingsInvalid, match=output):
        read_stack_file(stack)


def test_a_named_file_does_not_name_itself(stack: Path) -> None:
    (stack.parent / "fleets" / "large.yaml").write_text(NAMES)
    with pytest.raises(SettingsInvalid, match="leads back to a file that extends this one"):
        read_stack_file(stack)


def test_the_fleet_of_another_time_is_that_of_the_named_file_then(stack: Path) -> None:
    then = {stack: NAMES, stack.parent / "fleets" / "large.yaml": "config: {'dra-fleet:fleet': {owner: me}}"}
    assert fleet_at(stack, then.get) == {"owner": "me"}
    with pytest.raises(SettingsInvalid, match=r"does not exist\n  at: .*\n  got: fleets/large\.yaml\n"):
        fleet_at(stack, {stack: NAMES}.get)


@pytest.mark.slow
def test_a_fleet_that_no_program_can_be_started_with_is_reported_with_its_fix(tmp_path: Path) -> None:
    assert read_stack_file(long_stack(tmp_path, 1_800)).too_long is None
    file = long_stack(tmp_path, 2_800)
    read = read_stack_file(file)
    assert str(read.too_long) == (
        f"dra-fleet:fleet: takes {read.handed_over} bytes of the variable in which the engine hands it to "
        'the program, and Linux allows 131072: a preview ends with "argument list too long"\n'
        f"  at: {file}:2:3\n"
        "  fix: move the fleet into a file fleets/long.yaml, the keys config and dra-fleet:fleet above it "
        "included, and extend that in the stack file: dra-fleet:fleet: {extends: fleets/long.yaml}"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the bound is Linux's")
def test_linux_starts_a_program_up_to_the_bound_and_none_above_it() -> None:
    longest = "x" * (LONGEST_VARIABLE - len("PULUMI_CONFIG=") - 1)
    command = [sys.executable, "-c", "pass"]
    subprocess.run(command, env={**os.environ, "PULUMI_CONFIG": longest}, check=True)
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run(command, env={**os.environ, "PULUMI_CONFIG": f"{longest}x"}, check=True)


def test_the_bytes_are_those_of_json_as_go_writes_it_in_a_text_of_json() -> None:
    text = json.dumps(read_fleet(DEV), separators=(",", ":"), ensure_ascii=False)
    for letter, escaped in {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"}.items():
        text = text.replace(letter, escaped)
    handed = 'PULUMI_CONFIG={"dra-fleet:fleet": ' + json.dumps(text, ensure_ascii=False) + "}"
    assert "\\\\u0026\\\\u0026" in handed
    assert read_stack_file(DEV).handed_over == len(handed.encode()) + 1
