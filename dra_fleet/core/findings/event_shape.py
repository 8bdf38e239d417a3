"""The shape of the engine's events, as far as they are read: a file of them may be written by anybody.

https://github.com/pulumi/pulumi/blob/master/sdk/go/common/apitype/events.go
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_Urn = Annotated[str, Field(pattern=r"^urn:pulumi:[^:]*::[^:]*::.+::.+$")]
_LAST_SECOND = 253_402_300_799
"""Of the year 9999."""


class _EventPart(BaseModel):
    model_config = ConfigDict(strict=True)


class _Frame(_EventPart):
    sourcePosition: str = ""  # noqa: N815 - the engine's name


class _State(_Frame):
    id: str | None = None
    custom: bool | None = None
    stackTrace: list[_Frame] | None = None  # noqa: N815 - the engine's name
    parent: str | None = None
    provider: str | None = None
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


def wrong_place(event: object) -> str:
    """The first place where an event is none of the engine's, such as `summaryEvent.result`."""
    try:
        _Event.model_validate(event)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
        return ".".join(str(step) for step in first["loc"]) or "its form"
    return ""
