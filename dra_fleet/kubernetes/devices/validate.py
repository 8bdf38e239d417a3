"""Validation of resource.k8s.io/v1 objects, slightly stricter than the API server of a minor.

Metadata beyond names, labels and annotations is left to the server. Namespaces and their labels are not seen,
so `adminAccess` without the namespace's label passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from dra_fleet.core.findings.errors import message_of
from dra_fleet.kubernetes.devices.base import DeviceModel, Problem, camel, refuse, without_nulls
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
from dra_fleet.kubernetes.devices.gates import drop_disabled
from dra_fleet.kubernetes.devices.names import DnsSubdomain, LabelKey, LabelValue, dns_subdomain, label_key

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

API_VERSION = "resource.k8s.io/v1"

CelCheck = Callable[[str, str], str | None]
"""Compiles a CEL expression for a minor: takes the expression and the minor, says what is wrong or None."""


_MAPS = frozenset({"attributes", "capacity", "counters", "labels", "annotations"})
"""Fields that are maps: what follows them in a path is a key."""
_KEY_ITSELF = "[key]"
"""Pydantic's suffix after a map's key if the key is wrong, not its value."""
_ANNOTATION_BYTES = 256 * 1024
"""All keys and values together: `TotalAnnotationSizeLimitB` of
https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/validation/objectmeta.go."""


def _annotation_key(key: str) -> str:
    # Upper case does not matter in an annotation's key.
    problem = label_key(key.lower())
    if problem is not None:
        raise refuse(problem)
    return key


def _small_enough(annotations: dict[str, str]) -> dict[str, str]:
    size = sum(len(text.encode()) for pair in annotations.items() for text in pair)
    if size > _ANNOTATION_BYTES:
        raise refuse(f"must have at most {_ANNOTATION_BYTES} bytes together, these have {size}")
    return annotations


def _prefix(text: str) -> str:
    # A name is made by adding letters and digits, so that a prefix may end in a dash.
    problem = dns_subdomain(f"{text[:-1]}x" if text.endswith("-") else text)
    if problem is not None:
        raise refuse(problem)
    return text


def _finalizer(text: str) -> str:
    if "/" not in text and text not in ("kubernetes", "orphan", "foregroundDeletion"):
        raise refuse("must be fully qualified, such as example.com/name, or one of Kubernetes' own")
    return text


_Annotations = Annotated[
    dict[Annotated[str, AfterValidator(_annotation_key)], str], AfterValidator(_small_enough)
]


class _ObjectMetadata(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, alias_generator=camel)

    name: DnsSubdomain | None = None
    generate_name: Annotated[str, AfterValidator(_prefix)] | None = None
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: _Annotations = Field(default_factory=dict)
    finalizers: tuple[Annotated[LabelKey, AfterValidator(_finalizer)], ...] = ()

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if not self.name and not self.generate_name:
            raise refuse("name or generateName is required", at="name")
        return self


class _TemplateMetadata(DeviceModel):
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: _Annotations = Field(default_factory=dict)


class _Object(DeviceModel):
    api_version: str
    kind: str
    metadata: _ObjectMetadata


class _DeviceClass(_Object):
    spec: DeviceClassSpec = DeviceClassSpec()


class _ResourceClaim(_Object):
    spec: ClaimSpec = ClaimSpec()
    status: dict[str, Any] = Field(default_factory=dict)


class _TemplateSpec(DeviceModel):
    metadata: _TemplateMetadata = _TemplateMetadata()
    spec: ClaimSpec = ClaimSpec()


class _ResourceClaimTemplate(_Object):
    spec: _TemplateSpec = _TemplateSpec()


_MODELS: Mapping[str, type[_Object]] = {
    "DeviceClass": _DeviceClass,
    "ResourceClaim": _ResourceClaim,
    "ResourceClaimTemplate": _ResourceClaimTemplate,
}


@cache
def _slices() -> type[_Object]:
    # Drivers write them: few files hold one, and it takes as many models as all others together.
    from dra_fleet.kubernetes.devices.resource_slice import ResourceSliceSpec  # noqa: PLC0415

    return create_model("_ResourceSlice", __base__=_Object, spec=(ResourceSliceSpec, ...))


def validate_object(
    kind: str, value: Mapping[str, Any], minor: str, cel: CelCheck | None = None
) -> list[Problem]:
    """Return all errors of an object on a cluster of that minor.

    Args:
        kind: DeviceClass, ResourceClaim, ResourceClaimTemplate or ResourceSlice.
        value: The object as JSON. Unknown fields count as refused, as under strict field validation and
            server-side apply.
        minor: For example "1.36".
        cel: Compiles the selectors too, if given.

    Returns:
        The problems in a stable order. The API server accepts the object when none has `server` set.
    """
    clean = without_nulls(value)
    stored, dropped = drop_disabled(kind, clean, minor)
    on_server = _problems(kind, stored, minor)
    # The server reads the whole object before it drops fields: what cannot be read is rejected anywhere.
    unreadable = _problems(kind, clean, minor, only_unreadable=True) if dropped else []
    refused = list(dict.fromkeys([*on_server, *unreadable]))
    reported = {(problem.path, problem.what) for problem in refused}
    stricter = [
        item for item in _problems(kind, clean, minor, server=False) if (item.path, item.what) not in reported
    ]
    compiled = [] if cel is None else _compile(stored, minor, cel)
    return [*refused, *(item.problem() for item in dropped), *stricter, *compiled]


def every_problem(kind: str, value: Mapping[str, Any], minor: str, cel: CelCheck) -> list[Problem]:
    """Return the API server's problems with an object if all feature gates are on."""
    clean = without_nulls(value)
    return [*_problems(kind, clean, minor), *_compile(clean, minor, cel)]


def validate_spec(model: type[DeviceModel], value: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of a value by one of the models, with paths below it."""
    try:
        model.from_object(without_nulls(value), as_server=True)
    except ValidationError as error:
        return [_problem(detail, server=True) for detail in error.errors(include_url=False)]
    return []


def _problems(
    kind: str, value: Mapping[str, Any], minor: str, *, server: bool = True, only_unreadable: bool = False
) -> list[Problem]:
    """Return the problems by the API server's rules, or by the stricter ones."""
    try:
        chosen = _slices() if kind == "ResourceSlice" else _MODELS[kind]
        model = chosen.from_object(value, as_server=server, minor=minor)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return [
            _problem(detail, server=server)
            for detail in details
            if not _counts_wrong_items(detail, details)
            if _is_unreadable(detail) or not only_unreadable
        ]
    expected = {"apiVersion": (model.api_version, API_VERSION), "kind": (model.kind, kind)}
    return [
        Problem(path=path, what=f"must be {requested}", server=server)
        for path, (got, requested) in expected.items()
        if got != requested
    ]


def _problem(detail: ErrorDetails, *, server: bool) -> Problem:
    context = detail.get("ctx", {})
    at: str | tuple[str | int, ...] = context.get("at", "")
    if isinstance(at, str):
        at = tuple(int(part) if part.isdigit() else part for part in at.split(".") if part)
    path, before = "", ""
    for part in (*detail["loc"], *at):
        if part != _KEY_ITSELF:
            is_item = isinstance(part, int) or before in _MAPS
            path += f"[{part}]" if is_item else f".{part}"
        before = "" if before in _MAPS else str(part)
    is_unquoted = detail["type"] == "string_type" and isinstance(detail["input"], bool | int | float)
    fix = "put the value in quotes" if is_unquoted else str(context.get("fix", ""))
    return Problem(path=path.removeprefix("."), what=message_of(detail), fix=fix, server=server)


def _counts_wrong_items(detail: ErrorDetails, others: Sequence[ErrorDetails]) -> bool:
    """Return True if a list is called too short only because its wrong items were not counted."""
    at = detail["loc"]
    return detail["type"] == "too_short" and any(
        other["loc"][: len(at)] == at and len(other["loc"]) > len(at) for other in others
    )


def _is_unreadable(detail: ErrorDetails) -> bool:
    kind = detail["type"]
    return (
        kind.endswith("_type")
        or kind == "extra_forbidden"
        or bool(detail.get("ctx", {}).get("decoding", False))
    )


def _compile(value: object, minor: str, cel: CelCheck, path: str = "") -> list[Problem]:
    if isinstance(value, list):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(cast("list[object]", value))]
    elif isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        expression = fields.get("expression")
        if path.endswith(".cel") and isinstance(expression, str):
            problem = cel(expression, minor)
            return [Problem(path=f"{path}.expression", what=problem)] if problem else []
        items = [
            (f"{path}.{key}" if path else key, item) for key, item in fields.items() if key != "parameters"
        ]
    else:
        return []
    return [problem for where, item in items for problem in _compile(item, minor, cel, where)]
