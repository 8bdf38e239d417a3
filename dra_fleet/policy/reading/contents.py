"""Objects that a resource contains: templates of charts, manifests among values, and patches.

Rules evaluate them as separate resources, with the identity of the resource that contains them. What is
unknown in them is not a finding: no one can accept it by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.core.declared.resources import Resource, Stack
from dra_fleet.core.declared.values import Missing, Secret, Value
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents
from dra_fleet.policy.reading.chart_files import with_defaults
from dra_fleet.policy.reading.charts import RELEASE_TYPES, is_known, releases
from dra_fleet.policy.reading.custom_types import has_controller
from dra_fleet.policy.reading.go_templates import UNKNOWN, Templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.policy.reading.charts import ChartRelease


_MANIFEST: Final = re.compile(
    r"^[\s-]*[\"']?apiVersion[\"']?\s*:|^\s*\{.*[\"']apiVersion[\"']\s*:", re.MULTILINE
)
_REFERENCE: Final = frozenset({"apiVersion", "kind", "name", "namespace", "uid", "controller", "fieldPath"})
"""Fields of an object that only names another one."""
_OWN_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


class Contents(Struct, frozen=True, kw_only=True):
    """Contents of a resource.

    Attributes:
        objects: the objects, as resources of its identity.
        unreadable: the templates that cannot be read, as `path: text`.
    """

    objects: tuple[Resource, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


_NOTHING: Final = Contents()


def may_contain(resource_type: str) -> bool:
    """Return whether resources of a type are looked into."""
    return RELEASE_TYPES.fullmatch(resource_type) is not None or has_controller(resource_type)


def contents(resource: Resource) -> Contents:
    """Return what a resource contains, looked for once."""
    if not may_contain(resource.type):
        return _NOTHING
    found = resource.remembered.get(__name__)
    if not isinstance(found, Contents):
        found = resource.remembered[__name__] = _found(resource)
    return found


def expanded(stack: Stack) -> Stack:
    """Return a program with what its resources contain, and patches merged into what they patch."""
    if stack.expanded is None:
        inside = [each for resource in stack.resources for each in contents(resource).objects]
        whole = [*patched(stack.resources), *inside]
        stack.expanded = Stack(resources=whole) if inside or whole != stack.resources else stack
    return stack.expanded


def _found(resource: Resource) -> Contents:
    objects: list[Resource] = []
    unreadable: list[tuple[str, str]] = []
    seen = replace(resource, unknowns={}, remembered={})  # looking notes nothing
    for installed in releases(seen):
        if installed.files and not is_known(installed.chart_name):
            for path, text in _rendered(installed):
                read = _manifests(text)
                if read is None:
                    unreadable.append((path, text))
                else:
                    objects += _resources(resource, read, (path,))
    for key, value in seen.properties.entries:
        if key not in _OWN_FIELDS:
            objects += _embedded(resource, value)
    return Contents(objects=tuple(objects), unreadable=tuple(unreadable))


def _rendered(installed: ChartRelease) -> Iterator[tuple[str, str]]:
    files = installed.files
    meta = files.metadata
    chart = {key[:1].upper() + key[1:]: value.peek for key, value in meta.entries}
    top = {
        "Values": _plain(with_defaults(files, installed.values).peek) or {},
        "Chart": _plain(chart),
        "Release": {"Name": UNKNOWN, "Namespace": installed.namespace.peek or UNKNOWN, "Service": "Helm"},
        **dict.fromkeys(("Capabilities", "Files", "Template", "Subcharts"), UNKNOWN),
    }
    texts = [*files.templates]
    templates = Templates([text for _, text in texts], top)
    for path, text in texts:
        if not path.endswith(".tpl"):
            yield path, templates.render(text) if path.startswith("templates/") else text


def _plain(value: object) -> object:
    """Return values as templates print them."""
    if isinstance(value, Secret):
        return _plain(value.value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return UNKNOWN if isinstance(value, Missing) else value


def _manifests(text: str) -> list[Mapping[str, object]] | None:
    try:
        documents = read_documents("manifests", text.encode())
    except Unreadable:
        return None
    return [each for document in documents for each in _mappings(_marked(document.value))]


def _marked(value: object) -> object:
    """Return a rendered value: what a template does not know is unknown, or cut out of a longer text."""
    if isinstance(value, str):
        return Missing.UNKNOWN if value == UNKNOWN else value.replace(UNKNOWN, "")
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key).replace(UNKNOWN, ""): _marked(item) for key, item in items}
    if isinstance(value, list):
        return [_marked(item) for item in cast("list[object]", value)]
    return value


def _embedded(resource: Resource, value: Value) -> Iterator[Resource]:
    known = value.peek
    if isinstance(known, str):
        if len(known) < MAX_BYTES and _MANIFEST.search(known):
            yield from _resources(resource, _manifests(known) or [], value.path, secret=value.secret)
    elif _type(known):
        yield from _resources(
            resource, [cast("Mapping[str, object]", known)], value.path, secret=value.secret
        )
    else:
        for each in (below for _, below in value.entries):
            yield from _embedded(resource, each)
        for each in value.items:
            yield from _embedded(resource, each)


def _resources(
    holder: Resource,
    objects: Sequence[Mapping[str, object]],
    path: tuple[str | int, ...],
    *,
    secret: bool = False,
) -> Iterator[Resource]:
    for each in objects:
        type_ = _type(each)
        items = each.get("items")
        if type_.endswith("List") and isinstance(items, list):
            maps = [each for item in cast("list[object]", items) for each in _mappings(item)]
            yield from _resources(holder, maps, path, secret=secret)
        elif type_:
            properties: Mapping[str, object] = {
                key: Secret(value) if secret and key not in ("apiVersion", "kind") else value
                for key, value in each.items()
            }
            yield replace(
                holder,
                type=type_,
                read=partial(dict, properties),
                read_outputs=None,
                at=path,
                unknowns={},
                remembered={},
            )


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [cast("Mapping[str, object]", value)] if isinstance(value, Mapping) else []


def _type(value: object) -> str:
    """Return the type of an object as the engine names it; empty for anything else."""
    if not isinstance(value, Mapping):
        return ""
    fields = cast("Mapping[str, object]", value)
    version, kind = fields.get("apiVersion"), fields.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not kind or fields.keys() <= _REFERENCE:
        return ""
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{kind}"


# A patch is applied by server-side apply: https://kubernetes.io/docs/reference/using-api/server-side-apply/.

_SUFFIX: Final = "Patch"
_BY_NAME: Final = frozenset(
    {"containers", "initContainers", "ephemeralContainers", "env", "volumes", "resourceClaims", "claims"}
)
"""Lists whose items server-side apply merges by name; it replaces the others as a whole."""


def changed(resources: Sequence[Resource]) -> list[Resource]:
    """Return only the resources that patches change, with the patches merged."""
    before = {id(each) for each in resources}
    return [each for each in patched(resources) if id(each) not in before]


def patched(resources: Sequence[Resource]) -> list[Resource]:
    """Return the resources, each with the patches of it merged; patches stay beside them.

    A patch changes the object of its kind, name and namespace at the same provider, or the only one there is.
    """
    patches = [
        each for each in resources if each.type.startswith("kubernetes:") and each.type.endswith(_SUFFIX)
    ]
    if not patches:
        return [*resources]
    merged = [*resources]
    for patch in patches:
        key = (patch.type.removesuffix(_SUFFIX), *_name(patch))
        found = [
            number
            for number, each in enumerate(merged)
            if key[1] and each.type == key[0] and _name(each) == key[1:]
        ]
        near = [number for number in found if _provider(merged[number]) == _provider(patch)]
        for number in near or (found if len(found) == 1 else []):
            merged[number] = _merged(merged[number], patch)
    return merged


def _merged(target: Resource, patch: Resource) -> Resource:
    properties = _laid_over(target.read(), patch.read(), "")
    return replace(
        target, read=lambda: cast("Mapping[str, object]", properties), read_outputs=None, remembered={}
    )


def _name(resource: Resource) -> tuple[str, str]:
    metadata = resource.properties.get("metadata")
    return str(metadata.get("name").peek or ""), str(metadata.get("namespace").peek or "default")


def _provider(resource: Resource) -> str:
    return "" if resource.provider is None else resource.provider.urn


def _laid_over(below: object, above: object, key: str) -> object:
    while isinstance(above, Secret):
        above = above.value
    while isinstance(below, Secret):
        below = below.value
    if above is None or isinstance(above, Missing):
        return below if above is None or above is Missing.ABSENT else above
    if isinstance(above, Mapping) and isinstance(below, Mapping):
        merged = dict(cast("Mapping[str, object]", below))
        for name, value in cast("Mapping[str, object]", above).items():
            merged[name] = _laid_over(merged.get(name), value, name)
        return merged
    if isinstance(above, list) and isinstance(below, list) and key in _BY_NAME:
        merged_items = cast("list[object]", [*below])
        for item in cast("list[object]", above):
            place = next((n for n, each in enumerate(merged_items) if _named(each) == _named(item)), None)
            if place is None or not _named(item):
                merged_items.append(item)
            else:
                merged_items[place] = _laid_over(merged_items[place], item, "")
        return merged_items
    return cast("object", above)


def _named(item: object) -> str:
    return str(cast("Mapping[str, object]", item).get("name") or "") if isinstance(item, Mapping) else ""
