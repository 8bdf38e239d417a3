import json
from collections.abc import Iterator
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime import set_all_config

from dra_fleet.fleet import SettingsInvalid, read_stack_file
from dra_fleet.fleet.stack_file import read_fleet
from stacks import program

DEV = Path(__file__).parents[2] / "Pulumi.dev.yaml"


@pytest.fixture(autouse=True)
def no_configuration() -> Iterator[None]:
    set_all_config({}, ["dra-fleet:none"])
    yield
    set_all_config({}, ["dra-fleet:none"])


def test_the_program_reads_what_the_other_commands_read() -> None:
    set_all_config({"dra-fleet:fleet": json.dumps(read_fleet(DEV))}, ["dra-fleet:none"])
    assert program.settings() == read_stack_file(DEV).settings


def test_the_program_reads_the_file_that_its_stack_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large.yaml").write_text(DEV.read_text(encoding="utf-8"), encoding="utf-8")
    set_all_config({"dra-fleet:fleet": '{"extends": "large.yaml"}'}, ["dra-fleet:none"])
    monkeypatch.setattr(pulumi, "get_root_directory", lambda: str(tmp_path))
    assert program.settings() == read_stack_file(DEV).settings


def test_without_a_folder_from_the_host_the_program_uses_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large.yaml").write_text(DEV.read_text(encoding="utf-8"), encoding="utf-8")
    set_all_config({"dra-fleet:fleet": '{"extends": "large.yaml"}'}, ["dra-fleet:none"])
    monkeypatch.setattr(pulumi, "get_root_directory", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert program.settings() == read_stack_file(DEV).settings


def test_a_stack_without_a_fleet_is_reported_so() -> None:
    with pytest.raises(SettingsInvalid, match="dra-fleet:fleet: is missing"):
        program.settings()


@pytest.mark.parametrize("value", ["[1]", "text", "3"])
def test_a_fleet_of_another_shape_is_reported_so(value: str) -> None:
    set_all_config({"dra-fleet:fleet": value}, ["dra-fleet:none"])
    with pytest.raises(SettingsInvalid, match="dra-fleet:fleet: must be a mapping"):
        program.settings()


def test_a_secret_inside_the_fleet_is_refused_and_not_shown() -> None:
    set_all_config({"dra-fleet:fleet": '{"owner": "hidden"}'}, ["dra-fleet:fleet"])
    with pytest.raises(SettingsInvalid) as caught:
        program.settings()
    assert "holds a secret" in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_named_secret_that_is_not_set_is_reported_with_its_fix() -> None:
    with pytest.raises(SettingsInvalid, match="pulumi config set --secret dra-fleet:labKubeconfig"):
        program.secret("labKubeconfig")


@pytest.mark.usefixtures("recorder")
def test_a_named_secret_is_an_output() -> None:
    set_all_config({"dra-fleet:labKubeconfig": "x"})
    assert isinstance(program.secret("labKubeconfig"), pulumi.Output)
