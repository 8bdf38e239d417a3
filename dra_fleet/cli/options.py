"""Options that several commands have."""

from __future__ import annotations

import typer

RULES = typer.Option(
    "--rules",
    metavar="DIR",
    help="A folder of your own rules, which judge beside these; else what the stack file names.",
    show_default=False,
)
EXEMPTIONS = typer.Option(
    "--exemptions",
    metavar="FILE",
    help="Exemptions from rules, YAML; else what the stack file names.",
    show_default=False,
)
