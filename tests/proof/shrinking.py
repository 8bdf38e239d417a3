"""Make a failing case small: drop whatever it fails without."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]

_TRIES = 600
_TOKEN = re.compile(r"'[^']*'|\w+|\W")


def shrunk(case: Any, still_fails: Callable[[Any], bool], *, tries: int = _TRIES) -> Any:
    """A case of plain data that still fails though more of it is gone, the smallest of so many tries."""
    made_progress = True
    while made_progress:
        made_progress = False
        for path in list(_parts(case)):
            smaller = _without(case, path)
            if smaller is None:
                continue
            if tries <= 0:
                return case
            tries -= 1
            if still_fails(smaller):
                case, made_progress = smaller, True
    return case


def shrunk_text(text: str, still_fails: Callable[[str], bool], *, tries: int = _TRIES) -> str:
    """A text that still fails though brackets and runs of tokens are gone, the smallest of so many tries."""
    tokens: list[str] = _TOKEN.findall(text)
    made_progress = True
    while made_progress:
        made_progress = False
        for smaller in (*_unwrapped(tokens), *_without_runs(tokens)):
            if tries <= 0:
                return "".join(tokens)
            tries -= 1
            if still_fails("".join(smaller)):
                tokens, made_progress = smaller, True
                break
    return "".join(tokens)


def _unwrapped(tokens: list[str]) -> Iterator[list[str]]:
    """Return the content of each pair of brackets, then all without the pair, outermost pairs first."""
    open_at: list[int] = []
    pairs: list[tuple[int, int]] = []
    for index, part in enumerate(tokens):
        if part == "(":
            open_at.append(index)
        elif part == ")" and open_at:
            pairs.append((open_at.pop(), index))
    for start, end in sorted(pairs):
        inside = tokens[start + 1 : end]
        if inside:
            yield inside
            yield [*tokens[:start], *inside, *tokens[end + 1 :]]


def _without_runs(tokens: list[str]) -> Iterator[list[str]]:
    """All without a run of tokens, the longest runs first, each half as long as the one before."""
    size = len(tokens) // 2
    while size:
        for start in range(0, len(tokens) - size + 1, max(size // 2, 1)):
            yield tokens[:start] + tokens[start + size :]
        size = size * 2 // 3


def _parts(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every part, the largest first; items of a list from the end, so that the others keep their places."""
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = [*value]  # pyright: ignore[reportUnknownVariableType]
    elif isinstance(value, list):
        keys = [*reversed(range(len(value)))]  # pyright: ignore[reportUnknownArgumentType]
    yield from ((*path, key) for key in keys)
    for key in keys:
        yield from _parts(value[key], (*path, key))


def _without(case: Any, path: Path) -> Any:
    smaller = copy.deepcopy(case)
    place = smaller
    try:
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return smaller
