"""Writes every file that is made from the code: schemas, pages and presets. `make generate` runs it.

What is written where stands here alone; a test holds that each file is current.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.cli.schemas import PUBLISHED
from dra_fleet.fleet import explanation
from dra_fleet.fleet import schema as stack_schema
from dra_fleet.policy import docs
from dra_fleet.policy.gate import preset
from dra_fleet.policy.rule import PRESETS
from dra_fleet.review import schema as review_schema
from scripts import behaviours, commands, support, truth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROJECT = Path(__file__).resolve().parents[1]
GENERATED: Mapping[str, Callable[[], str]] = {
    "schema/stack.schema.json": stack_schema.text,
    "docs/stack.md": explanation.text,
    **{f"schema/{published.file}": published.text for published in PUBLISHED},
    "dra_fleet/review/schema/review.schema.json": review_schema.text,
    "docs/rules.md": docs.page,
    "docs/commands.md": commands.page,
    "docs/support.md": support.page,
    "docs/truth.md": truth.page,
    "docs/behaviours.md": behaviours.text,
    **{f"policies/presets/{name}.json": partial(preset.text, name) for name in PRESETS},
}
"""Function that makes the text of each file, by its path in the project."""


def main() -> None:
    """Write the files that differ, and say which."""
    for name, text in GENERATED.items():
        file = PROJECT / name
        made = text()
        if not file.exists() or file.read_text(encoding="utf-8") != made:
            file.write_text(made, encoding="utf-8")
            sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
