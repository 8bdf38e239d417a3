"""Whether a name says that its value is a credential, and whether the value can be one.

Names are judged by their words: `max_tokens`, `secretName` and `tokenUrl` name none.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Kind = Literal["password", "token", "secret", "key"]

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FORMS: Final = frozenset(
    [
        "value",
        "data",
        "base64",
        "b64",
        "text",
        "string",
        "raw",
        "plain",
        "json",
        "yaml",
        "encoded",
        "decoded",
        "content",
    ]
)
"""Last words that say how a value is written, not what it is."""
_AMOUNTS: Final = frozenset(
    [
        "max",
        "min",
        "maximum",
        "minimum",
        "num",
        "number",
        "count",
        "limit",
        "total",
        "budget",
        "rate",
        "length",
        "size",
        "ttl",
        "per",
        "public",
        "expiry",
        "expiration",
        "lifetime",
        "rotation",
        "policy",
    ]
)
_KEYS: Final = frozenset(
    [
        "private",
        "secret",
        "access",
        "api",
        "account",
        "shared",
        "storage",
        "signing",
        "encryption",
        "master",
        "primary",
        "secondary",
        "client",
        "auth",
        "admin",
        "deploy",
        "root",
        "session",
        "webhook",
        "hmac",
        "service",
        "license",
    ]
)
"""What a key must be to be a credential."""
_ENDINGS: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (re.compile(r".*(password|passwd|passphrase|pwd)"), "password"),
    (re.compile(r".*token"), "token"),
    (re.compile(r".*(secret|credential)"), "secret"),
    (re.compile(r".*(api|access|secret|private|client|auth|account)key"), "key"),
)
_NEUTRAL: Final = frozenset(
    [
        "username",
        "user",
        "name",
        "namespace",
        "host",
        "hostname",
        "port",
        "id",
        "endpoint",
        "url",
        "uri",
        "type",
        "kind",
        "region",
        "zone",
        "version",
        "arn",
        "path",
        "file",
        "server",
        "cluster",
        "context",
        "email",
        "role",
        "project",
        "account",
        "tenant",
        "audience",
        "issuer",
        "provider",
    ]
)
"""Last words of what stands beside a credential and is none."""
_PLACEHOLDER: Final = re.compile(
    r"(?i)(\$|%|<|\{|@microsoft\.keyvault|\[|\*+$|x+$|\.+$|redacted|true$|false$|none$|null$|yes$|no$)"
)
_REFERENCE: Final = re.compile(
    r"(?i)(arn:|/|\./|~/|[a-z]:\\|projects/|[a-z][a-z0-9+.-]{0,30}://|vault:|secret/|ssm:|op://)"
)
_LABEL: Final = re.compile(r"[a-z]+([-./_][a-z]+)*(-[0-9a-f]{7,10})?")
"""The name of an object, with the suffix that the engine or Kubernetes adds."""
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RANDOM: Final = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.~-]{16,}")


def named_kind(name: str) -> Kind | None:
    """What kind of credential a name says; None for a name that says none."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and (words[-1] in _FORMS or words[-1].isdigit()):
        words.pop()
    if not words or _AMOUNTS.intersection(words):
        return None
    last = words[-1].removesuffix("s")
    if last == "key":
        return "key" if len(words) > 1 and words[-2] in _KEYS else None
    return next((kind for ending, kind in _ENDINGS if ending.fullmatch(last)), None)


def is_neutral(name: str) -> bool:
    """Whether a name says that its value is none, whatever it stands below."""
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _NEUTRAL or bool(_AMOUNTS.intersection(words)))


def can_be(kind: Kind, text: str) -> bool:
    """Whether a text can be a credential of a kind: no placeholder, no reference, no name of an object."""
    text = text.strip()
    if not text or _PLACEHOLDER.match(text):
        return False
    if kind == "password":
        return True
    if _REFERENCE.match(text) or text.replace(".", "").isdigit():
        return False
    match kind:
        case "token":
            return True
        case "secret":
            return _LABEL.fullmatch(text) is None
        case "key":
            return _RANDOM.fullmatch(text) is not None and _UUID.fullmatch(text) is None


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a credential that is filled in later."""
    return _PLACEHOLDER.match(text) is not None
