from pathlib import Path

import pytest
from ruamel.yaml import YAML

import dra_fleet

ROOT = Path(dra_fleet.__file__).parent
FILES = [
    file
    for folder in ("clouds", "drivers", "hardware", "kubernetes")
    for file in sorted((ROOT / folder).rglob("*.yaml"))
    if not {"templates", "chart"} & set(file.parts)
]
"""Files of data; the templates of charts are not YAML before Helm renders them."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_data_file_holds_a_key_twice(file: Path) -> None:
    """The catalogue's own reader would let the later one win; this one raises DuplicateKeyError."""
    content: object = YAML(typ="safe", pure=True).load(file)  # pyright: ignore[reportUnknownMemberType] - ruamel is partly untyped
    assert isinstance(content, dict)
