"""Parameters of tests in the YAML file beside the test file, by the name of the test."""

from pathlib import Path
from typing import Any

import pytest
import yaml


def rows(file: str, test: str, names: str) -> pytest.MarkDecorator:
    """Parametrize `names` with the rows of a test: lists of values, or mappings that may have an `id`."""
    content: dict[str, list[list[Any] | dict[str, Any]]] = yaml.safe_load(
        Path(file).with_suffix(".yaml").read_text("utf-8")
    )
    given = content[test]
    plain = [row if isinstance(row, list) else [row[name] for name in names.split()] for row in given]
    ids = [row.get("id") if isinstance(row, dict) else None for row in given]
    found = [pytest.param(*values, id=name) for values, name in zip(plain, ids, strict=True)]
    return pytest.mark.parametrize(names.split(), found)
