"""What a client-side apply sends: the difference between three versions of an object, as a patch.

What the program no longer declares goes, what it declares comes, and what others wrote stays. Lists that the
server merges by a key are patched item by item.
Rules: https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go
(`CreateThreeWayMergePatch` with `overwrite`), and RFC 7386 for kinds without such lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

_REFERENCE: Final = "#/components/schemas/"
_RETAIN: Final = "retainKeys"


class UnkeyedItemError(Exception):
    """An item of a list that is merged by a key does not have the key."""


@dataclass(frozen=True)
class Merging:
    """How the server merges the values of one place of an object.

    `schemas`: those of the server's OpenAPI document, by name; none for a JSON merge patch, where every list
    is replaced as a whole. `place`: the schema of this place.
    """

    schemas: Object
    place: Object

    @property
    def strategies(self) -> list[str]:
        """Such as `merge`, `retainKeys`, or both."""
        return str(self.place.get("x-kubernetes-patch-strategy", "")).split(",")

    @property
    def key(self) -> str | None:
        """What tells the items of a list apart; None for a list of plain values."""
        return self.place.get("x-kubernetes-patch-merge-key")

    def below(self, field: str) -> Merging:
        """How a field of this place is merged."""
        return Merging(self.schemas, self._resolved().get("properties", {}).get(field, {}))

    def items(self) -> Merging:
        """How one item of the list at this place is merged; keys that are retained are so in each item."""
        kept = {"x-kubernetes-patch-strategy": _RETAIN} if _RETAIN in self.strategies else {}
        return Merging(self.schemas, {**self._resolved().get("items", {}), **kept})

    def _resolved(self) -> Object:
        parts: list[Object] = self.place.get("allOf", [])
        for part in [self.place, *parts]:
            if "$ref" in part:
                return cast("Object", self.schemas.get(str(part["$ref"]).removeprefix(_REFERENCE), {}))
        return self.place


def three_way(last: Object, new: Object, live: Object, how: Merging) -> Object:
    """The patch that brings the live object to the new inputs; empty where nothing changes.

    Args:
        last: the inputs that were applied before.
        new: the inputs now.
        live: the object as the server has it.
        how: the server merges the object.

    Raises:
        UnkeyedItemError: such a patch cannot be made; a JSON merge patch can.
    """
    patch: Object = {key: None for key in last if key not in new}
    for key, value in new.items():
        patch |= _of_field(key, last.get(key), value, live.get(key), how.below(key))
    if patch and _RETAIN in how.strategies:
        patch["$retainKeys"] = sorted(new)
    return patch


def _of_field(key: str, last: Any, new: Any, live: Any, how: Merging) -> Object:  # noqa: ANN401 - any JSON value
    if isinstance(new, dict) and isinstance(live, dict):
        before = cast("Object", last) if isinstance(last, dict) else {}
        below = three_way(before, cast("Object", new), cast("Object", live), how)
        return {key: below} if below else {}
    if isinstance(new, list) and isinstance(live, list) and "merge" in how.strategies:
        before = cast("list[Any]", last) if isinstance(last, list) else []
        return _of_list(key, before, cast("list[Any]", new), cast("list[Any]", live), how)
    return {} if new == live else {key: new}


def _of_list(key: str, last: list[Any], new: list[Any], live: list[Any], how: Merging) -> Object:
    if how.key is None:
        changed = [item for item in new if item not in live]
        gone = [item for item in last if item not in new]
        order, there = new, live
    else:
        lasts, news, lives = (_keyed(items, how.key) for items in (last, new, live))
        changed = [item for name in news for item in _of_item(name, lasts, news, lives, how)]
        changed += [{"$patch": "delete", how.key: name} for name in lasts if name not in news]
        gone = []
        order, there = list(news), list(lives)
    patch: Object = {key: changed} if changed else {}
    if gone:
        patch[f"$deleteFromPrimitiveList/{key}"] = gone
    if patch or [name for name in there if name in order] != [name for name in order if name in there]:
        named = order if how.key is None else [{how.key: name} for name in order]
        patch[f"$setElementOrder/{key}"] = named
    return patch


def _keyed(items: list[Any], key: str) -> dict[Any, Object]:
    try:
        return {item[key]: item for item in items}
    except KeyError as error:
        raise UnkeyedItemError(key) from error


def _of_item(
    name: Any,  # noqa: ANN401 - a text or number
    lasts: dict[Any, Object],
    news: dict[Any, Object],
    lives: dict[Any, Object],
    how: Merging,
) -> list[Object]:
    if name not in lives:
        return [news[name]]
    below = three_way(lasts.get(name, {}), news[name], lives[name], how.items())
    return [{**below, str(how.key): name}] if below else []
