"""The JSON Schema of review.json: `python -m dra_fleet.review.schema` writes it; a test holds it."""

from __future__ import annotations

import json
from pathlib import Path

from dra_fleet.review.model import Review

TARGET = Path(__file__).parent / "review.schema.json"


def schema_text() -> str:
    """The schema as the committed file holds it."""
    schema = Review.model_json_schema(by_alias=True, mode="serialization")
    return (
        json.dumps(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                **schema,
                "title": "Review of a dra-fleet stack, version 1",
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )
