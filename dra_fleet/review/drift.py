"""Changes that were made by hand: a refresh of the engine that changes neither the state nor a cloud."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from typing_extensions import override

from dra_fleet.core.findings.engine_events import NoEngineEventsError, take_events
from dra_fleet.review.errors import ReviewError
from dra_fleet.review.events import Preview
from dra_fleet.review.kinds import value_at
from dra_fleet.review.masking import change_shown
from dra_fleet.review.previewing import RunningPreview

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_WORDS: Final[Mapping[str, Literal["changed", "deleted"]]] = {"update": "changed", "delete": "deleted"}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One property that differs; `declared` and `found` are short texts, secrets masked, "" for no value."""

    path: str
    declared: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Drifted:
    """One resource that was changed or deleted outside the stack.

    Attributes:
        urn: Its URN.
        type: Its type token.
        name: Its name in the stack.
        id: Its name in the cloud or cluster.
        change: What happened to it.
        differences: The properties that differ; none if it was deleted.
    """

    urn: str
    type: str
    name: str
    id: str
    change: Literal["changed", "deleted"]
    differences: tuple[Difference, ...] = ()

    @property
    def kind(self) -> str:
        """The last word of its type, such as `DeviceClass`."""
        return self.type.rpartition(":")[2]


@dataclass(frozen=True, kw_only=True)
class RefreshCommand:
    """A refresh that only reports.

    Attributes:
        pulumi: The engine's command line.
        stack: The stack.
        directory: The Pulumi project.
        config_file: The stack file if it is not the project's own.
        environment: All variables.
    """

    pulumi: str
    stack: str
    directory: Path
    config_file: Path | None
    environment: Mapping[str, str]

    @property
    def arguments(self) -> list[str]:
        """Program and arguments."""
        options = ["--stack", self.stack, "--preview-only", "--json", "--non-interactive"]
        if self.config_file is not None:
            options += ["--config-file", str(self.config_file)]
        return [self.pulumi, "refresh", *options, "--color", "never"]


@dataclass(kw_only=True)
class Refresh(Preview):
    """The events of a refresh."""

    drifted: list[Drifted] = field(default_factory=list[Drifted])

    @override
    def take(self, event: Mapping[str, Any]) -> None:
        """Add one event; the outputs of a step say what the refresh found."""
        super().take(event)
        done = event.get("resOutputsEvent")
        if done and (change := _WORDS.get(done["metadata"]["op"])) is not None:
            self.drifted.append(_drifted(done["metadata"], change))


class RunningRefresh(RunningPreview):
    """A refresh that was started; it ends with its context."""

    def drifted(self) -> tuple[Drifted, ...]:
        """Follow the refresh to its end, and return what differs.

        Raises:
            ReviewError: The engine could not compare everything; with the engine's message.
        """
        try:
            found = read_refresh(self._lines(), "the refresh")
        except ReviewError as problem:
            self._process.kill()
            self._process.wait()
            raise ReviewError(f"cannot compare the stack: {self._words() or problem}") from None
        if self._process.wait() or found.result != "succeeded":
            raise ReviewError(f"cannot compare the stack: {'; '.join(found.errors) or self._words()}")
        return tuple(found.drifted)


def read_refresh(lines: Iterable[str | bytes], source: str) -> Refresh:
    """Read the events of a refresh.

    Args:
        lines: One event each.
        source: Name of the lines in errors.

    Raises:
        ReviewError: The lines are no events of the engine.
    """
    found = Refresh()
    try:
        take_events(lines, source, found.take)
    except NoEngineEventsError as problem:
        raise ReviewError(str(problem)) from None
    return found


def _drifted(metadata: Mapping[str, Any], change: Literal["changed", "deleted"]) -> Drifted:
    old: Mapping[str, Any] = metadata.get("old") or {}
    new: Mapping[str, Any] = metadata.get("new") or {}
    urn: str = metadata["urn"]
    paths: Mapping[str, Any] = (metadata.get("detailedDiff") or {}) if change == "changed" else {}
    return Drifted(
        urn=urn,
        type=metadata.get("type") or old.get("type", ""),
        name=urn.rpartition("::")[2],
        id=old.get("id", ""),
        change=change,
        differences=tuple(_difference(path, old, new) for path in sorted(paths)),
    )


def _difference(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    """Return a difference of the inputs, or of the outputs if the inputs do not differ."""
    for part in ("inputs", "outputs"):
        before, after = (value_at(state.get(part), path) for state in (old, new))
        if before != after:
            break
    declared, found = change_shown(before, after, path)
    return Difference(path=path, declared=declared, found=found)
