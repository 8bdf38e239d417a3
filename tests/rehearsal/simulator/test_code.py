from pathlib import Path

import pytest

from dra_fleet.rehearsal.simulator.client import PACKAGES, code_digest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for package in PACKAGES:
        (tmp_path / package / "inner").mkdir(parents=True)
        (tmp_path / package / "inner" / "a.py").write_text("one = 1\n")
    return tmp_path


def test_the_same_files_have_the_same_digest(project: Path) -> None:
    assert code_digest(project) == code_digest(project)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_changed_file_changes_the_digest(project: Path, package: str) -> None:
    before = code_digest(project)
    (project / package / "inner" / "a.py").write_text("one = 1.0\n")
    assert code_digest(project) != before


@pytest.mark.parametrize("name", ["b.py", "facts.yaml"])
def test_a_new_file_changes_the_digest(project: Path, name: str) -> None:
    before = code_digest(project)
    (project / PACKAGES[0] / name).touch()
    assert code_digest(project) != before


def test_compiled_files_do_not_change_the_digest(project: Path) -> None:
    before = code_digest(project)
    (project / PACKAGES[0] / "a.cpython-311.pyc").touch()
    assert code_digest(project) == before


def test_another_clone_has_another_digest(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("clone") / "project"
    project.rename(other)
    before = code_digest(other)
    other.rename(project)
    assert code_digest(project) != before
