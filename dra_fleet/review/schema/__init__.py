"""The JSON Schema of review.json; a file beside this one holds it."""

from __future__ import annotations

import json

from dra_fleet.review.model import Review


def text() -> str:
    """Return the schema as the committed file contains it."""
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
