"""The published JSON Schemas of what commands print with `--json`.

They are generated from the values that the commands print.
"""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct
from msgspec.json import schema_components
from pydantic.alias_generators import to_camel

from dra_fleet.core.findings.finding import FileFinding  # noqa: TC001 - the schema reads the types
from dra_fleet.proof.answer.verdicts import ClaimProof, ClassProof, WorkloadProof  # noqa: TC001
from dra_fleet.rehearsal.status import StatusJson

_ATTRIBUTE = re.compile(r"^        (?P<name>\w+): (?P<text>.+(?:\n {12}.+)*)", re.MULTILINE)


class Refused(Struct):
    """Output if there is no answer, such as for a wrong stack file; exit code 1."""

    error: str


class Proved(Struct):
    """Devices found for each class, claim and workload of the stack.

    `fits` is false if something stops it.
    """

    fits: bool
    classes: tuple[ClassProof, ...]
    claims: tuple[ClaimProof, ...]
    workloads: tuple[WorkloadProof, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    managed: tuple[str, ...]


class Checked(Struct, rename="camel"):
    """Findings, their number by severity, the number of checked objects, and why others were skipped."""

    errors: int
    warnings: int
    judged: int
    skipped: dict[str, int]
    by_own_rules: int
    findings: tuple[FileFinding, ...]


class PublishedSchema(Struct, frozen=True):
    """Schema of a command's output: its file, its title, and its type if there is an answer."""

    file: str
    title: str
    printed: Any

    def text(self) -> str:
        """Return the schema as the committed file contains it."""
        printed, models = schema_components((self.printed, Refused), ref_template="#/$defs/{name}")
        for model in models.values():
            _describe(model)
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": self.title}
        schema = {**head, "$defs": dict(sorted(models.items())), "anyOf": printed}
        return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


PUBLISHED = (
    PublishedSchema("prove.schema.json", "What `dra-fleet prove --json` prints", Proved),
    PublishedSchema("check.schema.json", "What `dra-fleet check --json` prints", Checked),
    PublishedSchema(
        "rehearse-status.schema.json", "What `dra-fleet rehearse status --json` prints", StatusJson
    ),
)


def _describe(model: dict[str, Any]) -> None:
    """Move what a docstring says of each attribute to the attribute; nothing else is printed."""
    description, _, attributes = model["description"].partition("\n\n    Attributes:\n")
    model["description"] = _plain(description)
    for name, text in _ATTRIBUTE.findall(attributes):
        model["properties"][to_camel(name)]["description"] = _plain(text)
    for item in model["properties"].values():
        item.pop("default", None)
    model["required"] = list(model["properties"])  # what has a default is printed too
    model["additionalProperties"] = False


def _plain(text: str) -> str:
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))
