"""Writes the files of a review; what an earlier review left there and this one has not is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.review.comment import render_markdown
from dra_fleet.review.page import render_page
from dra_fleet.review.previewing import PLAN
from dra_fleet.review.sarif import render_sarif

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dra_fleet.review.model import Review
    from dra_fleet.review.places import StackText


def write_review(review: Review, directory: Path, stack: Sequence[StackText]) -> dict[str, Path]:
    """Write every format; returns the files by format. `stack`: the files that the fleet stands in."""
    texts = {
        "html": ("index.html", render_page(review)),
        "markdown": ("review.md", render_markdown(review)),
        "json": ("review.json", review.model_dump_json(indent=2) + "\n"),
        "sarif": ("review.sarif", render_sarif(review, stack)),
    }
    written: dict[str, Path] = {}
    for kind, (name, text) in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
        written[kind] = directory / name
    if (directory / PLAN).is_file():
        written["plan"] = directory / PLAN
    return written
