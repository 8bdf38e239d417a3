"""Writes the files of a review; what an earlier review left there and this one has not is removed."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import yaml
from msgspec import Struct
from pydantic_core import to_json

from dra_fleet.core.findings.errors import KEY
from dra_fleet.core.findings.sarif import SarifResult, SarifRule, SarifRun, sarif
from dra_fleet.fleet.stack_file import FLEET
from dra_fleet.review.comment import render_markdown
from dra_fleet.review.page import render_page
from dra_fleet.review.previewing import PLAN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dra_fleet.core.findings.sarif import Level
    from dra_fleet.core.yaml_text import Path as Keys
    from dra_fleet.core.yaml_text import Place
    from dra_fleet.review.model import Change, Finding, Review, Severity


_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class StackText(Struct, frozen=True, kw_only=True, dict=True):
    """A file that contains the reviewed fleet.

    Attributes:
        path: Its path in its repository.
        text: Its text, where it is not read yet.
        places: Where each value of it stands, where it is read.
    """

    path: str
    text: str = ""
    places: Mapping[Keys, Place] | None = None

    @cached_property
    def lines(self) -> Mapping[tuple[str, ...], int]:
        """The line of each setting by its path in the fleet."""
        return _of_text(self.text) if self.places is None else _of_places(self.places)


def _of_places(places: Mapping[Keys, Place]) -> Mapping[tuple[str, ...], int]:
    start, found = len(FLEET), dict[tuple[str, ...], int]()
    for path, place in places.items():
        if path[:start] == FLEET:
            found.setdefault(tuple(map(str, path[start:])), place.line)
    return found


def _of_text(text: str) -> Mapping[tuple[str, ...], int]:
    try:
        document: Any = yaml.compose(text, Loader=_LOADER)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except yaml.YAMLError:
        return {}
    found: dict[tuple[str, ...], int] = {}
    for key, value in _pairs(_under(document, "config")):
        if key.value == KEY:
            found[()] = cast("int", key.start_mark.line) + 1
            _collect(value, (), found)
    return found


_LEVELS: dict[Severity, Level] = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}

_CHANGE = SarifRule(
    name="running-claims-lose-devices",
    description="Something that runs ends, or something is deleted",
    level="warning",
)


def write_review(review: Review, directory: Path, stack: Sequence[StackText]) -> dict[str, Path]:
    """Write every format; returns the files by format. `stack`: the files that contain the fleet."""
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


def render_sarif(review: Review, stack: Sequence[StackText]) -> str:
    """Return the SARIF log of a review.

    Args:
        review: What was found.
        stack: The stack file, and after it those that it extends: settings are looked up in them.
    """
    changes = [item for item in review.changes if item.lost_claims or item.weight == "destructive"]
    worst: dict[str, Finding] = {}
    for item in review.findings:
        worst.setdefault(item.rule, item)  # they are sorted, gravest first
    run = SarifRun(
        tool="dra-fleet review",
        rules=(*map(_rule, worst.values()), *([_CHANGE] if changes else [])),
        category=f"dra-fleet-review/{review.stack}",
        properties={
            "decision": review.verdict.decision,
            "reasons": [item.text for item in review.verdict.reasons],
        },
    )
    results = [_result(item, stack) for item in review.findings]
    results += [_change(item, stack[0].path) for item in changes]
    return to_json(sarif(run, results), indent=2).decode() + "\n"


def _rule(item: Finding) -> SarifRule:
    return SarifRule(
        name=item.rule,
        description=f"{item.source} {item.rule}",
        help=item.fix,
        link=item.url,
        level=_LEVELS[item.severity],
        severity=item.severity,
        tags=(item.source, item.level),
    )


def _result(item: Finding, stack: Sequence[StackText]) -> SarifResult:
    file, line = place_of(item.subject, stack)
    return SarifResult(
        rule=item.rule,
        level="error" if item.level == "mandatory" else _LEVELS[item.severity],
        message=item.message
        if not item.fix or item.fix in item.message
        else f"{item.message}\nfix: {item.fix}",
        names=tuple(dict.fromkeys((item.resource, item.subject))),
        file=file,
        line=line,
        identity=(item.resource, item.subject),
        suppressed=item.exempted,
    )


def _change(item: Change, stack_file: str) -> SarifResult:
    urns = [resource.urn for resource in item.resources[:1]]
    return SarifResult(
        rule=_CHANGE.name,
        level="warning",
        message=item.text,
        names=(*urns, f"{item.kind} {item.name}"),
        file=stack_file,
        identity=(item.kind, item.cluster, item.name, item.action),
    )


def place_of(path: str, texts: Sequence[StackText]) -> tuple[str, int]:
    """Return the file and the line, from 1, of a setting or of its nearest existing parent.

    Args:
        path: The path as errors of settings name it, such as `dra-fleet:fleet.clusters.lab`; anything else is
            at the first line.
        texts: The stack file, and after it those that it extends.
    """
    if path.startswith(KEY):
        parts = [index or name for index, name in _PART.findall(path.removeprefix(KEY))]
        for length in range(len(parts), -1, -1):
            for file in texts:
                known = file.lines.get(tuple(parts[:length]))
                if known is not None:
                    return file.path, known
    return texts[0].path, 1


def _under(node: Any, name: str) -> Any:  # noqa: ANN401 - a YAML node, which has no types
    return next((value for key, value in _pairs(node) if key.value == name), None)


def _pairs(node: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - a YAML node
    return cast("list[tuple[Any, Any]]", node.value) if isinstance(node, yaml.MappingNode) else []


def _collect(node: Any, path: tuple[str, ...], found: dict[tuple[str, ...], int]) -> None:  # noqa: ANN401
    for key, value in _pairs(node):
        below = (*path, str(key.value))
        found.setdefault(below, cast("int", key.start_mark.line) + 1)
        _collect(value, below, found)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(cast("list[Any]", node.value)):
            below = (*path, str(index))
            found.setdefault(below, cast("int", item.start_mark.line) + 1)
            _collect(item, below, found)
