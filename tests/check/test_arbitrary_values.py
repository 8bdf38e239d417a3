import io
import random
from pathlib import Path
from typing import Any, cast

import pytest
from ruamel.yaml import YAML

from tests.check.check_helpers import RECIPES, findings, value_findings

pytestmark = pytest.mark.slow

GOOD = (Path(__file__).parent / "good.yaml").read_text()
VALUES = (RECIPES / "s2" / "corrected-values.yaml").read_text()
JUNK: list[Any] = [
    None,
    0,
    -1,
    1.5,
    True,
    "",
    "x/y",
    [],
    ["x"],
    [None],
    {},
    {"x": {"y": 1}},
    [{"name": 1}],
    [[{}]],
]


def broken(text: str, seed: int) -> str:
    """The documents with one to three values replaced by something else."""
    chance = random.Random(seed)
    yaml: Any = YAML(typ="safe", pure=True)
    documents: list[Any] = list(yaml.load_all(text))
    for _ in range(chance.randint(1, 3)):
        _replace(chance, chance.choice(documents))
    out = io.StringIO()
    yaml.dump_all(documents, out)
    return out.getvalue()


def _replace(chance: random.Random, node: Any) -> None:
    keys: list[Any] = list(node) if hasattr(node, "keys") else list(range(len(node)))
    if not keys:
        return
    key = chance.choice(keys)
    below: Any = node[key]
    if isinstance(below, dict | list) and below and chance.random() > 0.15:
        _replace(chance, cast("Any", below))
    else:
        node[key] = chance.choice(JUNK)


@pytest.mark.parametrize("seed", range(150))
def test_manifests_with_anything_in_them(seed: int) -> None:
    findings(broken(GOOD, seed))


@pytest.mark.parametrize("seed", range(60))
def test_values_with_anything_in_them(seed: int) -> None:
    stack = RECIPES / "s2" / "corrected-stack.yaml"
    value_findings(broken(VALUES, seed), stack, "nvidia-dra-driver-gpu@25.12.0")
