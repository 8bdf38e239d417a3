"""Findings of a check: one line each, with a place in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from dra_fleet.core.findings.errors import Refusal
    from dra_fleet.core.yaml_text import Document, Path

Severity = Literal["error", "warning"]


class FileFinding(Struct, frozen=True, kw_only=True, order=True):
    """An `error` or a `warning`. `line` and `column` count from 1.

    `clusters`: where it is so; empty where it is so on all that were looked at. `rule`: what kind it is, by
    which it can be omitted. `exempted`: until when and why it is let be; empty where it is not.
    """

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
    clusters: tuple[str, ...] = ()
    rule: str
    exempted: str = ""

    @property
    def sentence(self) -> str:
        """Message in one line without its place."""
        details = (("got", self.got), ("allowed", self.allowed), ("fix", self.fix))
        sentence = "".join(f"; {name}: {_one_line(text)}" for name, text in details if text)
        sentence += f"; exempted {_one_line(self.exempted)}" if self.exempted else ""
        subject = " ".join(part for part in (self.object, self.path) if part)
        on = f"on {', '.join(self.clusters)}: " if self.clusters else ""
        return f"{subject}{': ' if subject else ''}{on}{_one_line(self.what)}{sentence}"

    def __str__(self) -> str:
        """Format the finding in one line that begins with its place, as editors understand it."""
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.sentence} [{self.rule}]"


Found = dict[FileFinding, None]
"""Findings in the order in which they were made, each once."""


class Subject(Struct, frozen=True, kw_only=True):
    """A part of a document that is checked, and where its findings go.

    Args:
        document: the document.
        base: where the part begins in it.
        name: what findings call it, such as "DeviceClass nvidia-mig".
        found: collects the findings.
    """

    document: Document
    base: Path = ()
    name: str
    found: Found = field(default_factory=dict[FileFinding, None])

    @property
    def has_errors(self) -> bool:
        """True if an error was reported."""
        return any(finding.severity == "error" for finding in self.found)

    def error(
        self, *path: str | int, rule: str, what: str, got: str = "", allowed: str = "", fix: str = ""
    ) -> None:
        """Report an error about the value at a path below the part."""
        self._report("error", path, rule=rule, what=what, got=got, allowed=allowed, fix=fix)

    def refuse(self, refusal: Refusal, *path: str | int, rule: str, severity: Severity = "error") -> None:
        """Report a rejected value at a path below the part."""
        self._report(
            severity,
            self.document.path((*self.base, *path), refusal.path)[len(self.base) :],
            rule=rule,
            what=refusal.what,
            got=refusal.got,
            allowed=refusal.allowed,
            fix=refusal.fix,
        )

    def warning(
        self, *path: str | int, rule: str, what: str, got: str = "", allowed: str = "", fix: str = ""
    ) -> None:
        """Report a warning about the value at a path below the part."""
        self._report("warning", path, rule=rule, what=what, got=got, allowed=allowed, fix=fix)

    def path(self, dotted: str) -> Path:
        """Parse a path below this part, such as `spec.devices.requests[0].name`."""
        return self.document.path((*self.base,), dotted)[len(self.base) :]

    def _report(
        self, severity: Severity, path: Path, *, rule: str, what: str, got: str, allowed: str, fix: str
    ) -> None:
        place = self.document.place((*self.base, *path))
        finding = FileFinding(
            file=self.document.file,
            line=place.line,
            column=place.column,
            severity=severity,
            rule=rule,
            object=self.name,
            path=dotted(path),
            what=what,
            got=got,
            allowed=allowed,
            fix=fix,
        )
        self.found[finding] = None


def dotted(path: Path) -> str:
    """Format a path: ("spec", "requests", 0) -> "spec.requests[0]"."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _one_line(text: str) -> str:
    return " ".join(text.split())
