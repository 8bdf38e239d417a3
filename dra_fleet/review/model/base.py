"""The base of the review's models, and the words that they share."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Decision = Literal["approve", "person", "refuse"]
"""What a pipeline may do: apply it, ask a person, or stop."""
Action = Literal["create", "update", "replace", "delete", "none"]
Weight = Literal["destructive", "disruptive", "ordinary"]
"""Destructive: something that runs ends or something is deleted. Disruptive: it changes under what runs."""
Kind = Literal[
    "cluster", "pool", "driver", "class", "template", "claim", "workload", "namespace", "credential", "other"
]
Severity = Literal["critical", "high", "medium", "low"]
Word = Literal["guaranteed", "possible", "never", "unknown", "error"]
"""The proof's verdicts, see docs/proof.md."""


class ReviewModel(BaseModel):
    """Frozen; unknown fields are errors; JSON has camelCase keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )
