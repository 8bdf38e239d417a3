from pathlib import Path

import pytest

from dra_fleet.rehearsal.stack_copy import ProjectFileError, read_project_file

NO_NAME = ": names no name; fix: write one, such as `name: gpu-fleet`"
NO_RUNTIME = ": names no runtime; fix: write one, such as `runtime: python`"


def test_a_project_s_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.yaml"
    file.write_text("name: acme\nruntime: {name: python}\nmain: program\n", encoding="utf-8")
    assert read_project_file(file) == {"name": "acme", "runtime": {"name": "python"}, "main": "program"}


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (
            b"a: [\n",
            (
                ":2:1: is not valid YAML: did not find expected node content; "
                "fix: look at the indentation, quotes and brackets above"
            ),
        ),
        (b"\xff", ":1:1: is not UTF-8 text; fix: save it as UTF-8"),
        (b"", NO_NAME),
        (b"- a\n", NO_NAME),
        (b"runtime: python\n", NO_NAME),
        (b"name: 3\nruntime: python\n", NO_NAME),
        (b"name: acme\n", NO_RUNTIME),
        (b"name: acme\nruntime: 3\n", NO_RUNTIME),
    ],
)
def test_names_values_that_the_engine_rejected(text: bytes, output: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.yaml"
    file.write_bytes(text)
    with pytest.raises(ProjectFileError) as refused:
        read_project_file(file)
    assert str(refused.value) == f"{file}{output}"


def test_a_folder_of_that_name_is_no_project_s_file(tmp_path: Path) -> None:
    with pytest.raises(ProjectFileError) as refused:
        read_project_file(tmp_path)
    assert str(refused.value) == f"{tmp_path}: cannot be read: Is a directory"
