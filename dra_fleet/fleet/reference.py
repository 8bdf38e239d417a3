"""The page of all keys of a stack file, docs/stack.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet import clouds, drivers
from dra_fleet.fleet.keys import Section, sections
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = Path(__file__).parent / "reference_introduction.md"


def text() -> str:
    """The page as the committed file holds it."""
    pages = [_page(section) for section in sections().values()]
    return "\n".join([INTRODUCTION.read_text(encoding="utf-8"), *pages, _names()])


def _page(section: Section) -> str:
    rows = [f"| `{key.name}` | {key.value} | {key.default} | {key.meaning} |" for key in section.keys]
    head = ["| Key | Value | Default | Meaning |", "|---|---|---|---|"]
    return "\n".join([f"### {section.title}", "", section.meaning, "", *head, *rows, ""])


def _names() -> str:
    """The names that the catalogue knows."""
    lines = [
        "## Names",
        "",
        "What the catalogue holds; [one's own](catalogue.md) adds to it; a pool may describe its machine.",
        "",
    ]
    lines += [
        "| For | Names |",
        "|---|---|",
        f"| `kubernetes` | {', '.join(entry.minor for entry in kubernetes_facts().minors)} |",
        *(f"| `drivers.{name}.version` | {', '.join(versions)} |" for name, versions in _versions()),
        *(f"| `gpuOperator.version` | {', '.join(versions)} |" for versions in _operator_versions()),
    ]
    for cloud in clouds.BUILT_IN:
        machines = clouds.named(cloud).machines
        lines.append(f"| `machine` where `cloud: {cloud}` | {', '.join(sorted(machines))} |")
    lines.append(f"| `gpu` of a described machine | {', '.join(sorted(drivers.accelerators()))} |")
    return "\n".join([*lines, ""])


def _operator_versions() -> Iterator[list[str]]:
    for driver in drivers.known():
        operator = driver.resources.operator
        if operator is not None:
            yield [item.version for item in operator.versions()]


def _versions() -> Iterator[tuple[str, list[str]]]:
    for driver in sorted(drivers.known(), key=lambda driver: driver.name):
        yield driver.name, [item.version for item in driver.facts.versions]
