"""Purpose of a stack file's key, found by its path below the fleet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import KEY, ExpectedError, choices, mistyped, nearest
from dra_fleet.fleet.parsing import FLEET, Section, sections
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dra_fleet.fleet.parsing import SectionKey


INTRODUCTION = Path(__file__).parent / "reference_introduction.md"

NAME = "NAME"
"""Placeholder in a path for a name that users choose."""

_ALIKE = 0.8
"""Minimum similarity of a mistyped name at the end of a path to a key."""

_MARKS = re.compile(r"\[(?P<title>[^]]+)\]\([^)]*\)|`")


class Explained(Struct, frozen=True, kw_only=True):
    """A key's explanation. `within`: the section of the key. `keys`: the keys allowed below it."""

    within: str
    value: str
    default: str
    meaning: str
    keys: tuple[Explained, ...] = ()
    name: str = ""


class Explanation(Struct, frozen=True, kw_only=True):
    """A path with the user's own names left open, and each thing that may stand there."""

    path: str
    found: tuple[Explained, ...]


class UnknownKey(ExpectedError):  # noqa: N818 - the key is unknown; that is the sentence
    """Unknown key of a stack file."""


def explain(path: str) -> Explanation:
    """Explain a key.

    Args:
        path: its keys joined by dots, with or without the names of clusters, pools and the like in between:
            `clusters.pools.nodes` and `clusters.lab.pools.a100.nodes` are the same. Empty: the whole file.

    Raises:
        UnknownKey: There is no such key.
    """
    reported = path.removeprefix(KEY).strip(".")
    steps = [step for step in reported.split(".") if step]
    whole = sections()[FLEET]
    here: list[tuple[Section, SectionKey | None]] = [(whole, None)]
    walked: list[str] = []
    may_be_name = False
    for number, step in enumerate(steps, 1):
        below = _below(here)
        if may_be_name and not below:  # a name may have dots
            break
        found = [(section, key) for section in below for key in section.keys if key.name == step]
        if found:
            may_be_name = any(key.is_named for _, key in found)
            here = list(found)
            walked += [step, NAME] if may_be_name else [step]
        elif may_be_name and not (number == len(steps) and nearest(step, _names(below), _ALIKE)):
            may_be_name = False
        else:
            raise UnknownKey(_unknown(step, walked, below))
    return Explanation(path=".".join(walked).removesuffix(f".{NAME}"), found=tuple(_explained(here)))


def _below(here: Iterable[tuple[Section, SectionKey | None]]) -> list[Section]:
    known = sections()
    names = dict.fromkeys(name for _, key in here for name in (key.sections if key else (FLEET,)))
    return [known[name] for name in names]


def _names(below: Iterable[Section]) -> list[str]:
    return sorted({key.name for section in below for key in section.keys})


def _explained(here: Iterable[tuple[Section, SectionKey | None]]) -> Iterable[Explained]:
    """Each thing once: sections that report the same of a key are named together."""
    alike: dict[Explained, list[str]] = {}
    for section, key in here:
        keys = tuple(_one(below.title, item) for below in _below([(section, key)]) for item in below.keys)
        alike.setdefault(_one("", key, keys) if key else _whole(section, keys), []).append(section.title)
    for reported, titles in alike.items():
        yield replace(reported, within=", ".join(titles))


def _one(within: str, key: SectionKey, keys: tuple[Explained, ...] = ()) -> Explained:
    return Explained(
        within=within,
        name=key.name,
        value=_plain(key.value),
        default=_plain(key.default),
        meaning=_plain(key.meaning),
        keys=keys,
    )


def _whole(section: Section, keys: tuple[Explained, ...]) -> Explained:
    return Explained(within="", value="mapping", default="required", meaning=section.meaning, keys=keys)


def _plain(text: str) -> str:
    return _MARKS.sub(lambda match: match["title"] or "", text).replace(r"\|", "|")


def _unknown(step: str, walked: list[str], below: list[Section]) -> str:
    known = _names(below)
    place = ".".join(walked) or "a stack file"
    lines = [f"{place} has no key {step!r}", f"  allowed: {choices(step, known)}"]
    fix = mistyped(step, known) or _elsewhere(step)
    return "\n".join([*lines, f"  fix: {fix}"] if fix else lines)


def _elsewhere(step: str) -> str:
    """Return the fix for a key of another section, by the shortest path to it; "" if there is no such key."""
    paths, found = {FLEET: ""}, list[str]()
    for name, section in sections().items():  # a section follows one that refers to it
        for key in section.keys:
            if key.name == step:
                found.append(f"{paths[name]}{step}")
            for below in key.sections:
                paths.setdefault(below, f"{paths[name]}{key.name}.")
    return f"write {min(found, key=len)}" if found else ""


def text() -> str:
    """Return the content of the committed file."""
    pages = [_page(section) for section in sections().values()]
    return "\n".join([INTRODUCTION.read_text(encoding="utf-8"), *pages, _names_of()])


def _page(section: Section) -> str:
    rows = [f"| `{key.name}` | {key.value} | {key.default} | {key.meaning} |" for key in section.keys]
    head = ["| Key | Value | Default | Meaning |", "|---|---|---|---|"]
    return "\n".join([f"### {section.title}", "", section.meaning, "", *head, *rows, ""])


def _names_of() -> str:
    """Return the names in the catalogue."""
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
