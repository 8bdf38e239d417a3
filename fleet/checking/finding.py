"""What a check finds: one line each, with the place in the file it is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fleet.checking.documents import Document, Path

Severity = Literal["error", "warning"]


@dataclass(frozen=True, kw_only=True, order=True)
class Finding:
    """One thing that is wrong (`error`) or doubtful (`warning`). `line` and `column` count from 1."""

    file: str
    line: int
    column: int
    severity: Severity
    object: str
    path: str
    what: str
    got: str = ""
    allowed: str = ""
    fix: str = ""

    def __str__(self) -> str:
        """The finding in one line, beginning with its place as editors understand it."""
        details = (("got", self.got), ("allowed", self.allowed), ("fix", self.fix))
        told = "".join(f"; {name}: {_one_line(text)}" for name, text in details if text)
        subject = " ".join(part for part in (self.object, self.path) if part)
        where = f"{self.file}:{self.line}:{self.column}: {self.severity}: "
        return f"{where}{subject}{': ' if subject else ''}{_one_line(self.what)}{told}"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A part of a document that is judged, and where its findings go.

    Args:
        document: the document.
        base: where the part begins in it.
        name: what findings call it, such as "DeviceClass nvidia-mig".
        found: collects the findings.
    """

    document: Document
    base: Path = ()
    name: str
    found: list[Finding] = field(default_factory=list[Finding])

    def error(self, *path: str | int, what: str, got: str = "", allowed: str = "", fix: str = "") -> None:
        """Tell an error about the value at a path below the part."""
        self._tell("error", path, what=what, got=got, allowed=allowed, fix=fix)

    def warning(self, *path: str | int, what: str, got: str = "", allowed: str = "", fix: str = "") -> None:
        """Tell a warning about the value at a path below the part."""
        self._tell("warning", path, what=what, got=got, allowed=allowed, fix=fix)

    def path(self, dotted: str) -> Path:
        """The path below this part that a text such as `spec.devices.requests[0].name` means."""
        return self.document.path((*self.base,), dotted)[len(self.base) :]

    def _tell(self, severity: Severity, path: Path, *, what: str, got: str, allowed: str, fix: str) -> None:
        place = self.document.place((*self.base, *path))
        finding = Finding(
            file=self.document.file,
            line=place.line,
            column=place.column,
            severity=severity,
            object=self.name,
            path=dotted(path),
            what=what,
            got=got,
            allowed=allowed,
            fix=fix,
        )
        if finding not in self.found:
            self.found.append(finding)


def dotted(path: Path) -> str:
    """A path as text: ("spec", "requests", 0) -> "spec.requests[0]"."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _one_line(text: str) -> str:
    return " ".join(text.split())
