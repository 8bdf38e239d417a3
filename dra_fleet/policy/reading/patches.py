"""Patch resources (`DeploymentPatch`, `NodePatch`, …) merged into what they patch in the same program.

A patch is applied by server-side apply: https://kubernetes.io/docs/reference/using-api/server-side-apply/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.core.declared.values import Missing, Secret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.core.declared.resources import Resource

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
        target,
        read=lambda: cast("Mapping[str, object]", properties),
        read_outputs=None,
        remembered={},
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
