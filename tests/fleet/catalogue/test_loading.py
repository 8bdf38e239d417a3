from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dra_fleet import hardware as catalogue

FILES = sorted(Path(catalogue.__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_data_file_holds_a_key_twice(file: Path) -> None:
    """The catalogue's own reader would let the later one win; this one raises DuplicateKeyError."""
    content: object = YAML(typ="safe", pure=True).load(file)  # pyright: ignore[reportUnknownMemberType] - ruamel is partly untyped
    assert isinstance(content, dict)
