"""Keeps secrets out of a review: what the engine marked, what a name says is one, what looks like one."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import takewhile
from typing import Any, cast

from dra_fleet.core.declared.credentials import without_credentials
from dra_fleet.core.findings.engine_events import SECRET, SIGNATURE, UNKNOWNS

MASK = "[secret]"
UNKNOWN = "known after apply"
"""Placeholder for a value that the engine does not know before the operation, as the engine writes it."""
_NAMES = re.compile(
    r"(?i)(password|passphrase|secret$|secretkey|token$|kubeconfig|privatekey|private_key|clientkey"
    r"|client-key-data|accesskey|apikey|api_key|connectionstring|credential)"
)
_REPORTED = re.compile(r"(?i)(?<=client-key-data: )\S+|(?<=password: )\S+|(?<=token: )\S{16,}")
"""Secrets by their labels in a text."""
_LONGEST = 160
"""Characters of a value that are shown."""
_CONTEXT = 40
"""Number of equal characters shown before the first difference."""


def is_marked(value: object) -> bool:
    """Return whether the engine marked a value as secret."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get(SIGNATURE) == SECRET


def change_shown(before: object, after: object, path: str) -> tuple[str, str]:
    """Both values of a property as short texts, masked where one, a part of it or its path's name is secret.

    Of texts that are too long the part is shown where they begin to differ.
    """
    if is_marked(before) or is_marked(after) or MASK in (before, after):
        return MASK if before is not None else "", MASK if after is not None else ""
    texts = _text(before, path), _text(after, path)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(0, same - _CONTEXT) if max(map(len, texts)) > _LONGEST else 0
    first, second = (_cut(text, start) for text in texts)
    return first, second


def _cut(text: str, start: int) -> str:
    """Return the text from `start` on, with an ellipsis for omitted text on either side."""
    head = "…" if start else ""
    rest = text[start:]
    left = _LONGEST - len(head)
    return head + (rest if len(rest) <= left else f"{rest[: left - 1]}…")


def _text(value: object, path: str) -> str:
    if value is None:
        return ""
    if _NAMES.search(path.rpartition(".")[2]):
        return MASK
    plain = _masked(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, separators=(", ", ": "))
    return scrub(text)


def _masked(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if is_marked(value):
        return MASK
    if isinstance(value, str) and value in UNKNOWNS:
        return UNKNOWN
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: MASK if _NAMES.search(key) else _masked(item) for key, item in fields.items()}
    if isinstance(value, list):
        return [_masked(item) for item in cast("list[Any]", value)]
    return value


@lru_cache(maxsize=32_768)
def scrub(text: str) -> str:
    """Mask everything in a text that looks like a key or a token; results are cached."""
    return _REPORTED.sub(MASK, without_credentials(text, MASK))


def scrub_all(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """All texts of plain data, scrubbed."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {key: scrub_all(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [scrub_all(item) for item in cast("list[Any]", value)]
    return value
