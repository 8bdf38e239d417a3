"""The golden comment of the dev stack: `python -m tests.review.golden` writes it anew.

Its events are saved by `python -m tests.review.record`.
"""

from __future__ import annotations

from pathlib import Path

from dra_fleet.review.comment import render_markdown
from tests.review import samples

GOLDEN = Path(__file__).parents[1] / "golden" / "review_dev.md"


def golden_text() -> str:
    """The comment as the code writes it: the dev stack before anything was deployed."""
    return render_markdown(samples.dev_first())


if __name__ == "__main__":
    GOLDEN.write_text(golden_text(), encoding="utf-8")
