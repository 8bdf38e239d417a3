import sys
from pathlib import Path

import pytest

from dra_fleet.core.places import PACKAGE, top_folder
from dra_fleet.policy.gate.running import changed, identity


@pytest.mark.slow
def test_the_pack_is_its_folders_what_it_imports_and_its_environment() -> None:
    found = identity()
    import grpc  # noqa: PLC0415 - as the pack does
    import yaml  # noqa: PLC0415

    for file in (
        top_folder("policies") / "run-pack",
        top_folder("policies") / "rules" / "chart_pin_version.py",
        PACKAGE / "clouds" / "gke" / "machines.yaml",
        Path(grpc.__file__),
        Path(yaml.__file__),
        Path(sys.executable),
        Path(sys.prefix) / "pyvenv.cfg",
    ):
        assert str(file) in found
    assert changed(found, identity()) == []


def test_new_removed_and_different_files_are_changes_except_new_compiled_files() -> None:
    before = {"a.py": "1", "gone.py": "1", "__pycache__/a.pyc": "1", "same.py": "1"}
    after = {"a.py": "2", "new.py": "1", "__pycache__/a.pyc": "2", "__pycache__/b.pyc": "1", "same.py": "1"}
    assert changed(before, after) == ["__pycache__/a.pyc", "a.py", "gone.py", "new.py"]
