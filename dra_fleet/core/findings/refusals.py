"""Collects errors and warnings while a plan is made, so that all of them are told at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dra_fleet.core.findings.errors import SettingsError, choices, mistyped, under

if TYPE_CHECKING:
    from dra_fleet.core.findings.refusal import Refusal


@dataclass()
class Findings:
    """What was found so far."""

    errors: list[SettingsError] = field(default_factory=list[SettingsError])
    warnings: list[str] = field(default_factory=list[str])

    def error(self, *parts: object, what: str, got: str = "", allowed: str = "", fix: str = "") -> None:
        """Refuse the value at a path below the fleet's key."""
        self.errors.append(SettingsError(path=under(*parts), what=what, got=got, allowed=allowed, fix=fix))

    def doubt(self, *parts: object, what: str) -> None:
        """Warn of the value at a path below the fleet's key."""
        self.warnings.append(f"{under(*parts)}: {what}")

    def refuse(self, refusal: Refusal, *parts: object) -> None:
        """Tell what a judgement refuses of the value at a path below the fleet's key."""
        below = (refusal.path,) if refusal.path else ()
        self.error(
            *parts,
            *below,
            what=refusal.what,
            got=refusal.got,
            allowed=refusal.allowed,
            fix=refusal.fix,
        )

    def unknown(self, *parts: object, what: str, got: str, known: list[str], fix: str = "") -> None:
        """Refuse a name that refers to nothing; the nearest known one comes before the fix."""
        proposals = [text for text in (mistyped(got, known), fix) if text]
        self.error(*parts, what=what, got=got, allowed=choices(got, known), fix=" Or ".join(proposals))
