"""The streaming events of Pulumi's engine: one JSON object per line, as they were printed or saved.

`PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json > events.jsonl` writes them; so does
`pulumi policy analyze --json`. Their shape:
https://github.com/pulumi/pulumi/blob/master/sdk/go/common/apitype/events.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dra_fleet.core.yaml_text import Unreadable, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


# The texts by which Pulumi's engine marks special values, in its events, its state and on the wire.
#
# https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/sig/sig.go,
# https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/plugin/rpc.go

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
"""The key that a special value has."""

SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the published mark of a secret, not one

OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"

UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

UNKNOWNS: Final = frozenset(
    {
        UNKNOWN_TEXT,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # list
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # map
    }
)
"""Placeholders for values that are known only after the operation, by the type of the value."""

_Urn = Annotated[str, Field(pattern=r"^urn:pulumi:[^:]*::[^:]*::.+::.+$")]

_Reference = Annotated[str, Field(pattern=r"^(urn:pulumi:[^:]*::[^:]*::.+::.+::.*)?$")]
"""A provider: its URN and, after two colons, its id."""

_LAST_SECOND = 253_402_300_799
"""Last second of the year 9999."""


class _EventPart(BaseModel):
    model_config = ConfigDict(strict=True)


class _Frame(_EventPart):
    sourcePosition: str = ""  # noqa: N815 - the engine's name


class _State(_Frame):
    id: str | None = None
    custom: bool | None = None
    stackTrace: list[_Frame] | None = None  # noqa: N815 - the engine's name
    parent: str | None = None
    provider: _Reference | None = None
    protect: bool | None = None
    inputs: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None


class _StepMetadata(_EventPart):
    op: str
    urn: _Urn
    type: str = ""
    logical: bool | None = None
    old: _State | None = None
    new: _State | None = None
    detailedDiff: dict[str, dict[str, Any]] | None = None  # noqa: N815 - the engine's name
    keys: list[str] | None = None


class _Step(_EventPart):
    metadata: _StepMetadata


class _Analysed(_EventPart):
    policyPackName: str  # noqa: N815 - the engine's name
    policyPackVersion: str = ""  # noqa: N815 - the engine's name
    resourceUrn: str = ""  # noqa: N815 - the engine's name
    passed: list[str] | None = None
    failed: list[str] | None = None


class _Violation(_EventPart):
    policyName: str  # noqa: N815 - the engine's name
    policyPackName: str = ""  # noqa: N815 - the engine's name
    enforcementLevel: str = ""  # noqa: N815 - the engine's name
    severity: str = ""
    message: str = ""
    resourceUrn: str = ""  # noqa: N815 - the engine's name


class _Diagnostic(_EventPart):
    severity: str
    message: str


class _Summary(_EventPart):
    result: str = ""
    durationSeconds: float = 0  # noqa: N815 - the engine's name
    resourceChanges: dict[str, int] | None = None  # noqa: N815 - the engine's name
    PolicyPacks: dict[str, str] | None = None


class _Prelude(_EventPart):
    config: dict[str, str] | None = None


class _Event(_EventPart):
    timestamp: Annotated[int, Field(ge=0, le=_LAST_SECOND)] | None = None
    preludeEvent: _Prelude | None = None  # noqa: N815 - the engine's name
    resourcePreEvent: _Step | None = None  # noqa: N815 - the engine's name
    resOutputsEvent: _Step | None = None  # noqa: N815 - the engine's name
    policyAnalyzeSummaryEvent: _Analysed | None = None  # noqa: N815 - the engine's name
    policyAnalyzeStackSummaryEvent: _Analysed | None = None  # noqa: N815 - the engine's name
    policyEvent: _Violation | None = None  # noqa: N815 - the engine's name
    policyRemediationEvent: _Violation | None = None  # noqa: N815 - the engine's name
    diagnosticEvent: _Diagnostic | None = None  # noqa: N815 - the engine's name
    summaryEvent: _Summary | None = None  # noqa: N815 - the engine's name


_STREAMING: Final = {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"}
"""Variable without which the engine prints a summary without policy results, and no events."""

_OPTION: Final = "PULUMI_OPTION_"
"""Each option of the engine's command line may come from a variable too, `--target` among them."""

FIX: Final = (
    "set PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true, so that `pulumi preview --json` prints its events"
)

_DIARY: Final = '"severity":"debug"'


def streaming_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for an engine whose events are read; variables that act as options are removed."""
    kept = {name: value for name, value in variables.items() if not name.startswith(_OPTION)}
    return {**kept, **_STREAMING}


class NoEngineEventsError(ValueError):
    """A text is not a stream of the engine's events; what it is and the fix."""


def take_events(lines: Iterable[str | bytes], source: str, take: Callable[[Mapping[str, Any]], None]) -> int:
    """Give each event to `take`, without the engine's diary, which no one reads and most of it is.

    Args:
        lines: one event each, as text or in UTF-8.
        source: what they are called in errors.
        take: receives each event.

    Returns:
        How many lines there were.

    Raises:
        NoEngineEventsError: They are no events of the engine.
    """
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            text = line if isinstance(line, str) else line.decode(errors="replace")
            if text.strip() and not (_DIARY in text and '"diagnosticEvent"' in text):
                take(_event(line, source, number))
    except Unreadable as problem:
        raise NoEngineEventsError(f"{source}, line {number + 1}: {problem.what}; {FIX}") from None
    return number


def _event(line: str | bytes, source: str, number: int) -> Mapping[str, Any]:
    try:
        event = read_json(line)
    except Unreadable as problem:
        if number == 1 and line.strip() in ("{", b"{"):
            raise NoEngineEventsError(_plain(source)) from None
        raise NoEngineEventsError(f"{source}, line {number}: {problem.what}; {FIX}") from None
    found = cast("dict[str, Any]", event) if isinstance(event, dict) else {}
    if "steps" in found and "sequence" not in found:
        raise NoEngineEventsError(_plain(source))
    if "sequence" not in found and not any(key.endswith("Event") for key in found):
        raise NoEngineEventsError(f"{source}, line {number}: is not an event of the engine; {FIX}")
    if place := wrong_place(found):
        raise NoEngineEventsError(
            f"{source}, line {number}: is not an event of the engine; {place} is wrong; {FIX}"
        )
    return found


def _plain(source: str) -> str:
    return (
        f"{source} is what plain `pulumi preview --json` prints: a summary that leaves every policy result "
        f"out; {FIX}"
    )


def wrong_place(event: object) -> str:
    """Return the first place where an event is not the engine's, such as `summaryEvent.result`."""
    try:
        _Event.model_validate(event)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
        return ".".join(str(step) for step in first["loc"]) or "its form"
    return ""
