"""Files that are made from the code are current."""

from __future__ import annotations

import pytest

from scripts.generate import GENERATED, PROJECT


@pytest.mark.parametrize(
    "name",
    [
        # It holds the simulated drivers to all that is recorded of the real ones.
        pytest.param(name, marks=pytest.mark.slow) if name == "docs/truth.md" else name
        for name in GENERATED
    ],
)
def test_a_generated_file_is_current(name: str) -> None:
    assert (PROJECT / name).read_text(encoding="utf-8") == GENERATED[name](), "run: make generate"
