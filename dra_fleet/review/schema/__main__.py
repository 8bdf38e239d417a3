"""Writes the schema: `python -m dra_fleet.review.schema`."""

from __future__ import annotations

import sys

from dra_fleet.review.schema import TARGET, schema_text

TARGET.write_text(schema_text(), encoding="utf-8")
sys.stdout.write(f"{TARGET}\n")
