import pytest

from scripts.generate import GENERATED, PROJECT

SLOW = ("docs/truth.md", "docs/support.md")
"""They hold the simulated drivers to all that is recorded of the real ones, and plan hundreds of stacks."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in GENERATED]
)
def test_a_generated_file_is_current(name: str) -> None:
    assert (PROJECT / name).read_text(encoding="utf-8") == GENERATED[name](), "run: make generate"
