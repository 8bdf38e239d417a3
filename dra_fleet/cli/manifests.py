"""Files that `dra-fleet check` gets, and a team's own rules on their objects."""

from __future__ import annotations

import glob
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.check import FileFinding, ManifestFile, OwnRules
from dra_fleet.core.findings.finding import dotted
from dra_fleet.core.yaml_text import MANIFEST_BYTES
from dra_fleet.policy.exemptions import exemption_of, today
from dra_fleet.policy.gate.apart import find_in_objects, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found
    from dra_fleet.policy.asked_policies import AskedPolicies
    from dra_fleet.policy.gate.apart import ObjectFinding, PlainObject
    from dra_fleet.policy.pack import Policies


STDIN = Path("-")
_SUFFIXES = (".yaml", ".yml")


def manifests(paths: Iterable[Path], unreadable: list[FileFinding]) -> list[ManifestFile]:
    """Read each file once, and report unreadable ones and folders without files."""
    found: dict[Path, bool] = {}
    for path in paths:
        files = dict(_files(path))
        found = files | found
        if not files:
            unreadable.append(
                _problem(path, f"contains no {' or '.join(_SUFFIXES)} file outside hidden folders")
            )
    return [
        ManifestFile(name=name_of(file), data=data, is_named=is_named)
        for file, is_named in found.items()
        if (data := bytes_of(file, unreadable)) is not None
    ]


def name_of(path: Path) -> str:
    """Return the name of a file in findings."""
    return "stdin" if path == STDIN else str(path)


def bytes_of(path: Path, unreadable: list[FileFinding]) -> bytes | None:
    """Read at most a little more than is ever used; report the problem and return None if it fails."""
    try:
        data = _read(path, MANIFEST_BYTES + 1)
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    else:
        if path != STDIN or data.strip():
            return data
        what = "is empty: the command before the pipe wrote nothing"
    unreadable.append(_problem(path, what))
    return None


def text_of(path: Path, unreadable: list[FileFinding]) -> str | None:
    """Return the text of a file; report the problem and return None if it fails."""
    data = bytes_of(path, unreadable)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        unreadable.append(_problem(path, "is not UTF-8 text; fix: save it as UTF-8"))
        return None


def _problem(path: Path, what: str) -> FileFinding:
    return FileFinding(
        file=name_of(path),
        line=1,
        column=1,
        severity="error",
        object="",
        path="",
        rule="unreadable",
        what=what,
    )


def _files(path: Path) -> Iterator[tuple[Path, bool]]:
    if path.is_dir():
        below = (file for suffix in _SUFFIXES for file in path.rglob(f"*{suffix}"))
        yield from ((file, False) for file in sorted(below) if file.is_file() and not _is_hidden(file, path))
    elif not path.exists() and glob.has_magic(str(path)):
        matching = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207 - with **
        yield from ((file, False) for file in matching if file.is_file())
        if not matching:
            yield path, True
    else:
        yield path, True


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _read(path: Path, most: int) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read(most)
    with path.open("rb") as file:
        return file.read(most)


PRESET: Final = "standard"
"""Preset of the rules' levels, as in a gate that names none."""
_HIDDEN: Final = ("data", "stringData")
"""Hidden fields of a Secret: https://kubernetes.io/docs/concepts/configuration/secret/"""


def own_rules(asked: AskedPolicies, project: AskedPolicies | None = None) -> OwnRules:
    """Return a team's own rules for a check. They run in another process, as in the gate.

    Args:
        asked: the options of the command.
        project: what the stack file names, if `--project-policies` requests it.

    Raises:
        GateError: The rules cannot be loaded, or their process gives no answer.
        ExemptionsError: The exemptions cannot be used.
    """
    policies = load(asked, project)
    about = {rule.name: rule.description for rule in policies.own}
    return OwnRules(about=about, check=(lambda objects: _found(policies, objects)) if about else None)


def _found(policies: Policies, objects: Sequence[FileObject]) -> Found:
    by_urn = {f"{number}::{item.name}": item for number, item in enumerate(objects)}
    found = find_in_objects({urn: _plain(item) for urn, item in by_urn.items()}, policies)
    return {_finding(each, by_urn[each.urn], policies): None for each in found}


def _plain(item: FileObject) -> PlainObject:
    """Return an object as a program in any language declares it, by the engine's names of types."""
    group = item.api_version if "/" in item.api_version else f"core/{item.api_version}"
    hidden = _HIDDEN if (group, item.kind) == ("core/v1", "Secret") else ()
    return f"kubernetes:{group}:{item.kind}", item.name, item.value, hidden


def _finding(found: ObjectFinding, item: FileObject, policies: Policies) -> FileFinding:
    subject, rule = item.subject, found.rule
    exemption = exemption_of(policies.exemptions, rule.name, found.urn)
    holds = exemption is not None and exemption.holds(today())
    reported = "" if exemption is None else exemption.describe(today())
    place = subject.document.place((*subject.base, *found.path))
    return FileFinding(
        file=subject.document.file,
        line=place.line,
        column=place.column,
        severity="error" if rule.level(PRESET) == "mandatory" and not holds else "warning",
        object=subject.name,
        path=dotted(found.path),
        what=found.problem if holds or not reported else f"{found.problem}; {reported}",
        allowed=found.allowed,
        fix=found.fix,
        rule=rule.name,
        exempted=reported.removeprefix("exempted ") if holds else "",
    )
