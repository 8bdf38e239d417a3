from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.check.check_helpers import findings

HERE = Path(__file__).parent
GOOD = (HERE / "good.yaml").read_text()
YAML_READER: Any = YAML(typ="safe", pure=True)
CASES: list[dict[str, Any]] = YAML_READER.load(HERE / "manifest_rules.yaml")


def test_the_good_file_passes() -> None:
    assert findings(GOOD) == []


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_each_break_is_reported(case: dict[str, Any]) -> None:
    assert case["old"] in GOOD
    assert findings(GOOD.replace(case["old"], case["new"], 1)) == case["findings"]
