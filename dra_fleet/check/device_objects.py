"""DeviceClasses, claims, templates and slices: version, validation, dropped fields, selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.check.resources import GROUP, at, has_marks, mapping, sequence
from dra_fleet.core.findings.errors import DROPPED_FIELD, MISSING_FIELD, UNKNOWN_FIELD, mistyped, nearest
from dra_fleet.kubernetes.devices.base import copied
from dra_fleet.kubernetes.devices.validate import API_VERSION, validate_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.kubernetes.devices.base import Problem

_REMOVED = {
    "v1beta1": "removed in 1.38, and served before that only where it was turned on",
    "v1beta2": "removed in 1.39, and served before that only where it was turned on",
}
_CLASSIC = ("v1alpha1", "v1alpha2")
"""Versions before structured parameters, whose objects have other fields."""
_REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
_DEVICES: dict[str, Path] = {
    "ResourceClaim": ("spec", "devices"),
    "ResourceClaimTemplate": ("spec", "spec", "devices"),
}


class ClassRequest(Struct, frozen=True, kw_only=True):
    """A class that a claim requests, directly or as an alternative; `path` is its requirements' path."""

    name: str
    path: Path
    value: dict[str, Any]
    is_alternative: bool

    @property
    def result_name(self) -> str:
        """Return the name in a claim's allocation: request, or request/alternative."""
        return f"{self.name}/{self.value.get('name', '')}" if self.is_alternative else self.name


class Validated(Struct, frozen=True, kw_only=True):
    """An object as the API servers of one minor read it.

    Attributes:
        given: as in its file.
        as_v1: the same in the form of v1; None for what is none of Dynamic Resource Allocation's objects.
        found: what is wrong with the object itself.
        has_marks: whether a template left something in it.
    """

    given: FileObject
    as_v1: FileObject | None
    found: Found
    has_marks: bool


def validated(resource: FileObject, minor: str) -> Validated:
    """Validate an object by itself for clusters of a Kubernetes version."""
    if not resource.is_device_object:
        return Validated(given=resource, as_v1=None, found={}, has_marks=has_marks(resource.value))
    checked = replace(resource, subject=replace(resource.subject, found={}))
    as_v1 = replace(checked, value=_as_v1(checked))
    _check_version(checked)
    has_shape = not _is_classic(resource)
    found = validate_object(as_v1.kind, as_v1.value, minor) if has_shape else []
    problems = _without_mistyped(_without_misindented(found))
    # Where a field is dropped, its holder then lacks a field; a missing name is reported with the head.
    caused = {item.path.rpartition(".")[0] for item in problems if not item.server}
    if not mapping(resource.value.get("metadata")):
        caused.add("metadata")
    reported: set[tuple[str, str]] = set()
    for problem in problems:
        if (problem.path, problem.what) not in reported and not (problem.server and problem.path in caused):
            reported.add((problem.path, problem.what))
            _report(as_v1, problem)
    return Validated(
        given=resource, as_v1=as_v1, found=checked.subject.found, has_marks=has_marks(resource.value)
    )


def _without_misindented(problems: list[Problem]) -> list[Problem]:
    """Return the problems with one for an `expression` that stands beside an empty `cel`, instead of two."""
    empty = {item.path.removesuffix("cel") for item in problems if item.what == MISSING_FIELD}
    beside = {
        item.path: replace(item, fix="indent expression, so that it belongs to cel")
        for item in problems
        if item.what == UNKNOWN_FIELD and item.path.removesuffix("expression") in empty
    }
    holders = {path.removesuffix("expression") + "cel" for path in beside}
    return [beside.get(item.path, item) for item in problems if item.path not in holders]


def _without_mistyped(problems: list[Problem]) -> list[Problem]:
    """Return the problems with one for a required field under a similar name, instead of two."""
    missing = {item.path for item in problems if item.what == MISSING_FIELD}
    found: dict[str, Problem] = {}
    for item in problems if missing else ():
        holder, _, name = item.path.rpartition(".")
        names = [path.rpartition(".")[2] for path in missing if path.rpartition(".")[0] == holder]
        fix = mistyped(name, names) if item.what == UNKNOWN_FIELD else ""
        if fix:
            found[item.path] = replace(item, fix=fix)
            missing.discard(f"{holder}.{nearest(name, names)[0]}")
    return [
        found.get(item.path, item) for item in problems if item.what != MISSING_FIELD or item.path in missing
    ]


def config_path(resource: FileObject) -> Path:
    """Return the path that contains an object's `config`."""
    return ("spec",) if resource.kind == "DeviceClass" else devices_path(resource.kind)


def devices_path(kind: str) -> Path:
    """Return the path of the requests in a claim or template."""
    return _DEVICES[kind]


def expressions(resource: FileObject, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the CEL expressions of the `selectors` below a path, with their places."""
    for index, selector in enumerate(sequence(at(resource.value, (*path, "selectors")))):
        expression = at(selector, ("cel", "expression"))
        if isinstance(expression, str) and expression.strip():
            yield (*path, "selectors", index, "cel", "expression"), expression


def all_expressions(resource: FileObject) -> Iterator[str]:
    """Every CEL expression of a class, claim or template."""
    yield from (text for _, text in expressions(resource, ("spec",)))
    if resource.kind in _DEVICES:
        for request in requests(resource):
            yield from (text for _, text in expressions(resource, request.path))


def requests(resource: FileObject) -> Iterator[ClassRequest]:
    """Yield the class requests of a claim or template."""
    base = (*_DEVICES[resource.kind], "requests")
    for index, request in enumerate(sequence(at(resource.value, base))):
        name = str(mapping(request).get("name", ""))
        exactly = mapping(mapping(request).get("exactly"))
        if exactly:
            path = (*base, index, "exactly")
            yield ClassRequest(name=name, path=path, value=exactly, is_alternative=False)
        for position, item in enumerate(sequence(mapping(request).get("firstAvailable"))):
            path = (*base, index, "firstAvailable", position)
            yield ClassRequest(name=name, path=path, value=mapping(item), is_alternative=True)


def requested_classes(resource: FileObject) -> Iterator[str]:
    """Yield the names of the classes that a claim or template of any API version requests."""
    if resource.kind in _DEVICES:
        yield from map(class_name, requests(resource))
        for _, old in _old_requests(resource.value, resource.kind):
            yield str(old.get("deviceClassName", ""))


def _check_version(resource: FileObject) -> None:
    version = resource.api_version.partition("/")[2]
    if resource.api_version != API_VERSION:
        removed = _REMOVED.get(version, "no longer served")
        resource.subject.error(
            "apiVersion",
            rule="api-version",
            what=f"{GROUP}/{version} is {removed}",
            got=resource.api_version,
            allowed=API_VERSION,
            fix=f"apiVersion: {API_VERSION}{_other_shape(resource)}",
        )
        return
    for path, request in _old_requests(resource.value, resource.kind):
        present = [name for name in _REQUEST_FIELDS if name in request]
        resource.subject.error(
            *path,
            present[0],
            rule="api-version",
            what=f"unknown field: {', '.join(present)} directly under a request is the shape of v1beta1",
            allowed="name with exactly or firstAvailable",
            fix=f"exactly: {{{', '.join(f'{name}: …' for name in present)}}}",
        )
    first = next(_old_devices(resource), None)
    if first is not None:
        resource.subject.error(
            *first,
            "basic",
            rule="api-version",
            what="unknown field: basic is the shape of v1beta1",
            allowed="attributes and capacity directly under a device",
            fix="write the fields of basic directly under the device",
        )


def _other_shape(resource: FileObject) -> str:
    """Return what v1 requires of an object besides the version; empty if the object already has its shape."""
    if next(_old_requests(resource.value, resource.kind), None) is not None:
        return ", and write deviceClassName, selectors and count of a request under exactly"
    if resource.kind in _DEVICES and _is_classic(resource):
        return ", and write the devices under requests instead of resourceClassName and parametersRef"
    if resource.kind == "ResourceSlice" and _is_classic(resource):
        return ", and write driver, pool and devices under spec"
    if next(_old_devices(resource), None) is not None:
        return ", and write the fields of basic directly under each device"
    return ""


def _is_classic(resource: FileObject) -> bool:
    """Return whether an object has the fields from before structured parameters, not only such a version."""
    places: dict[str, Path] = {**_DEVICES, "ResourceSlice": ("spec", "devices")}
    path = places.get(resource.kind)
    has_fields = path is not None and not at(resource.value, path)
    return resource.api_version.partition("/")[2] in _CLASSIC and has_fields


def _as_v1(resource: FileObject) -> dict[str, Any]:
    """Return the object with requests in the form of v1, so that the rest of it can be checked too."""
    value: dict[str, Any] = copied(resource.value)
    value["apiVersion"] = API_VERSION
    for _, request in list(_old_requests(value, resource.kind)):
        request["exactly"] = {name: request.pop(name) for name in _REQUEST_FIELDS if name in request}
    if resource.kind == "ResourceSlice":
        for device in map(mapping, sequence(at(value, ("spec", "devices")))):
            device.update(mapping(device.pop("basic", None)))
    return value


def _old_requests(value: dict[str, Any], kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    if kind not in _DEVICES:
        return
    base = (*_DEVICES[kind], "requests")
    for index, request in enumerate(sequence(at(value, base))):
        fields = mapping(request)
        if "exactly" not in fields and any(name in fields for name in _REQUEST_FIELDS):
            yield (*base, index), fields


def _old_devices(resource: FileObject) -> Iterator[Path]:
    if resource.kind == "ResourceSlice":
        for index, device in enumerate(sequence(at(resource.value, ("spec", "devices")))):
            if "basic" in mapping(device):
                yield "spec", "devices", index


_OF_DEVICES: Final = ("requests", "constraints", "config")
"""The fields of a claim's `devices`."""


def _report(resource: FileObject, problem: Problem) -> None:
    what = problem.what.replace(UNKNOWN_FIELD, DROPPED_FIELD)
    request, exactly, rest = problem.path.partition(".exactly.")
    dotted = f"{request}.{rest}" if exactly and not _has(resource, f"{request}.exactly") else problem.path
    fix = problem.fix or (_moved(resource, dotted) if problem.what == UNKNOWN_FIELD else "")
    resource.subject.error(*resource.subject.path(dotted), rule="object-refused", what=what, fix=fix)


def _moved(resource: FileObject, dotted: str) -> str:
    """Return where a field of a claim's devices belongs that stands elsewhere; empty for any other."""
    place = _DEVICES.get(resource.kind, ())
    name = dotted.rpartition(".")[2]
    return f"move {name} to {'.'.join(map(str, place))}" if place and name in _OF_DEVICES else ""


def _has(resource: FileObject, dotted: str) -> bool:
    path = resource.subject.path(dotted)
    return (*resource.subject.base, *path) in resource.subject.document.places


def class_name(request: ClassRequest) -> str:
    return str(cast("object", request.value.get("deviceClassName")) or "")
