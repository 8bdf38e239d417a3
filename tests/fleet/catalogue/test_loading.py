from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

from fleet import catalogue

FILES = sorted(Path(catalogue.__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_data_file_means_the_same_in_yaml_1_1_and_1_2(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    newer: Any = YAML(typ="safe", pure=True)
    assert repr(yaml.load(text, Loader=yaml.CSafeLoader)) == repr(newer.load(text))
