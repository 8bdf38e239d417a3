"""The published JSON Schemas of what commands print with `--json`.

They are generated from the values that the commands print.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

from dra_fleet.core.findings.finding import FileFinding
from dra_fleet.proof.answer.verdicts import ClaimProof, ClassProof, WorkloadProof
from dra_fleet.rehearsal.status import StatusJson

_ATTRIBUTE = re.compile(r"^    (?P<name>\w+): (?P<text>.+(?:\n {8}.+)*)", re.MULTILINE)


_EXACT = ConfigDict(extra="forbid")


class Refused(BaseModel):
    """Output if there is no answer, such as for a wrong stack file; exit code 1."""

    model_config = _EXACT

    error: str


class Proved(BaseModel):
    """Devices found for each class, claim and workload of the stack.

    `fits` is false if something stops it.
    """

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    fits: bool
    classes: tuple[ClassProof, ...]
    claims: tuple[ClaimProof, ...]
    workloads: tuple[WorkloadProof, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    managed: tuple[str, ...]


class Checked(BaseModel):
    """Findings, their number by severity, the number of checked objects, and why others were skipped."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    errors: int
    warnings: int
    judged: int
    skipped: dict[str, int]
    by_own_rules: int
    findings: tuple[FileFinding, ...]


@dataclass(frozen=True)
class PublishedSchema:
    """Schema of a command's output: its file, its title, and its model."""

    file: str
    title: str
    printed: TypeAdapter[Any]

    def text(self) -> str:
        """Return the schema as the committed file contains it."""
        schema = self.printed.json_schema(mode="serialization")
        for model in schema["$defs"].values():
            _describe(model)
            model["required"] = list(model["properties"])  # what has a default is printed too
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": self.title}
        return json.dumps({**head, **schema}, indent=2, ensure_ascii=False) + "\n"


PUBLISHED = (
    PublishedSchema(
        "prove.schema.json", "What `dra-fleet prove --json` prints", TypeAdapter(Proved | Refused)
    ),
    PublishedSchema(
        "check.schema.json", "What `dra-fleet check --json` prints", TypeAdapter(Checked | Refused)
    ),
    PublishedSchema(
        "rehearse-status.schema.json",
        "What `dra-fleet rehearse status --json` prints",
        TypeAdapter(StatusJson | Refused, config=_EXACT),
    ),
)


def _describe(model: dict[str, Any]) -> None:
    """Move what a docstring says of each attribute to the attribute."""
    description, _, attributes = model.get("description", "").partition("\n\nAttributes:\n")
    model["description"] = _plain(description)
    for match in _ATTRIBUTE.finditer(attributes):
        model["properties"][to_camel(match["name"])]["description"] = _plain(match["text"])
    for field in model["properties"].values():
        field.pop("title", None)
        field.pop("default", None)


def _plain(text: str) -> str:
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))
