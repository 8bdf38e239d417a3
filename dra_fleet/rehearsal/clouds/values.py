"""Property values between plugin and world: JSON, with the engine's own mark for what is not yet known."""

from __future__ import annotations

from typing import Any, Final, cast

Properties = dict[str, Any]
UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def is_unknown(value: object) -> bool:
    """Whether this value becomes known only when something is created."""
    return value == UNKNOWN_TEXT


def has_unknown(value: object) -> bool:
    """Whether a value that is not yet known is anywhere inside."""
    if isinstance(value, dict):
        return any(has_unknown(item) for item in cast("Properties", value).values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in cast("list[object]", value))
    return is_unknown(value)


def at(value: Any, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value at a dotted path, None where there is none; UNKNOWN_TEXT below something unknown."""
    for key in path.split("."):
        if is_unknown(value):
            return UNKNOWN_TEXT
        if not isinstance(value, dict):
            return None
        value = cast("Properties", value).get(key)
    return value


def changed_paths(old: object, new: object, path: str = "") -> list[str]:
    """The dotted paths at which two values differ; lists count as a whole, absent and null are the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        olds, news = cast("Properties", old), cast("Properties", new)
        return [
            found
            for key in sorted({*olds, *news})
            for found in changed_paths(olds.get(key), news.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if old == new and not has_unknown(new) else [path]
