"""Keeps secrets out of a review: what the engine marked, what a name says is one, what looks like one."""

from __future__ import annotations

import json
import re
from typing import Any, cast

MASK = "[secret]"
_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key by which the engine marks special values:
https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/sig/sig.go."""
_SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the engine's public mark of secrets
_NAMES = re.compile(
    r"(?i)(password|passphrase|secret$|secretkey|token$|kubeconfig|privatekey|private_key|clientkey"
    r"|client-key-data|accesskey|apikey|api_key|connectionstring|credential)"
)
_LOOKS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bpul-[0-9a-f]{40}\b"
    r"|(?i:(?<=bearer )[\w.~+/-]{16,}=*)"
    r"|(?i:(?<=accountkey=)[\w+/]{16,}=*)"
    r"|(?i:(?<=client-key-data: )\S+)"
    r"|(?i:(?<=password: )\S+)"
    r"|(?i:(?<=token: )\S{16,})",
    re.DOTALL,
)
_HINTS = (
    "PRIVATE KEY",
    "eyJ",
    "AKIA",
    "ASIA",
    "pul-",
    "earer ",
    "ccountKey=",
    "data: ",
    "assword: ",
    "oken: ",
)
_LONGEST = 160
"""Characters of a value that are shown."""


def is_marked(value: object) -> bool:
    """Whether the engine marked a value as secret."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get(_SIGNATURE) == _SECRET_SIGNATURE


def shown(value: object, path: str) -> str:
    """A value as a short text, masked where it, a part of it or its path's last name is secret."""
    if value is None:
        return ""
    if _NAMES.search(path.rpartition(".")[2]):
        return MASK
    plain = _masked(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, separators=(", ", ": "))
    text = scrub(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _masked(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if is_marked(value):
        return MASK
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: MASK if _NAMES.search(key) else _masked(item) for key, item in fields.items()}
    if isinstance(value, list):
        return [_masked(item) for item in cast("list[Any]", value)]
    return value


def scrub(text: str) -> str:
    """A text with everything masked that looks like a key or a token."""
    if not any(hint in text for hint in _HINTS) and "OKEN" not in text and "BEARER" not in text:
        return text
    return _LOOKS.sub(MASK, text)


def scrub_all(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """All texts of plain data, scrubbed."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {key: scrub_all(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [scrub_all(item) for item in cast("list[Any]", value)]
    return value
