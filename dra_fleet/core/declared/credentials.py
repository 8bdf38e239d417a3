"""Finds credentials in values: by their form, by their name, in kubeconfigs, commands and encoded texts.

What is secret is skipped. Nothing of a credential itself is reported.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast
from urllib.parse import unquote

from msgspec import Struct

from dra_fleet.core.declared.values import Value
from dra_fleet.core.facts import read
from dra_fleet.core.yaml_text import Unreadable, read_documents, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator


# Names of credentials, and values that can be credentials.
#
# Names are checked by their words: `max_tokens`, `secretName` and `tokenUrl` name none.

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
"""Required names of keys that contain credentials."""

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

_LAYERS: Final = 4
"""Largest depth of texts within texts, such as a file in base64 within JSON."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\s-]{16,}={0,2}\s*")

_DATA_URL: Final = re.compile(r"data:[\w/+.;=-]*?;base64,")
"""https://www.rfc-editor.org/rfc/rfc2397"""

_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){16,}")

_ESCAPED: Final = re.compile(r"%[0-9a-fA-F]{2}")

_GZIP: Final = b"\x1f\x8b"

_MOST_BYTES: Final = 1 << 20
"""Largest size of an unpacked text; of a longer one only the beginning is checked."""

_ASSIGNED: Final = re.compile(
    r"""(?m)^\s*(?:export\s+|set\s+|-\s+)?["']?(?P<name>\w[\w.-]{0,128})["']?\s*[:=]\s*["']?(?P<value>[^\s"',]+)"""
)

_OPTION: Final = re.compile(r"(?<!\S)--?(?P<name>[A-Za-z][\w-]{1,128})(?:=|\s+)[\"']?(?P<value>[^\s\"']+)")

_BASIC: Final = re.compile(r"[^\s:]+:\S+")


class HeldCredential(Struct, frozen=True):
    """A credential.

    Attributes:
        at: where it is; of one within a text, the text's place.
        what: what it is, or the name that says so.
        named: whether only its name says so, because it is not known yet.
    """

    at: Value
    what: str
    named: bool = False


def credentials(value: Value, name: str) -> Iterator[HeldCredential]:
    """Yield the credentials in a value that are not secret.

    Args:
        value: anything; values that are not known yet are checked by their names, and not noted.
        name: what the value is called.
    """
    yield from _found(value, name, 0)


def without_credentials(text: str, mask: str) -> str:
    """Replace credentials in a text by a mask, but keep placeholders."""

    def masked(match: re.Match[str]) -> str:
        secret = match.groupdict().get("secret")
        if is_placeholder(secret or ""):
            return match[0]
        return match[0].replace(secret, mask) if secret else mask

    for form in _forms():
        if form.holds in text:
            text = form.pattern.sub(masked, text)
    return text


class _Form(NamedTuple):
    """A form of credentials; a text of it holds a part that is always the same, perhaps empty."""

    what: str
    holds: str
    pattern: re.Pattern[str]


@cache
def _forms() -> tuple[_Form, ...]:
    forms = read("dra_fleet.core.declared", "credential_forms.yaml")["forms"]
    return tuple(_Form(form["is"], form.get("holds", ""), re.compile(form["pattern"])) for form in forms)


def _found(value: Value, name: str, layer: int) -> Iterator[HeldCredential]:
    raw = value.peek
    if value.secret:
        return
    if isinstance(raw, Mapping):
        yield from _in_mapping(value, cast("Mapping[str, object]", raw), name, layer)
    elif isinstance(raw, list):
        yield from _in_list(value, name, layer)
    elif isinstance(raw, str):
        yield from (HeldCredential(value, what) for what in _in_text(raw, name, layer))
    elif value.possible and named_kind(name) and (raw is None or _is_pin(raw, name)):
        yield HeldCredential(value, name, named=raw is None)


def _is_pin(raw: object, name: str) -> bool:
    return isinstance(raw, int) and not isinstance(raw, bool) and named_kind(name) == "password"


def _in_mapping(value: Value, raw: Mapping[str, object], name: str, layer: int) -> Iterator[HeldCredential]:
    """Below a credential's name everything is one, but what says that it is none.

    A mapping of both plain values and further structures has a separate form; its name is not a credential's.
    """
    variable = raw.get("name")
    if isinstance(variable, str) and set(raw) == {"name", "value"}:
        yield from _found(value.get("value"), variable, layer)
        return
    if raw.get("kind") == "Secret":
        for key in ("data", "stringData"):
            yield from (
                HeldCredential(each, "a Kubernetes Secret")
                for _, each in value.get(key).entries
                if not each.secret
            )
        return
    plain = {not isinstance(below, Mapping | list) for below in raw.values()}
    for key in raw:
        inherits = len(plain) == 1 and named_kind(name) and not named_kind(key) and not is_neutral(key)
        yield from _found(value.get(key), name if inherits else key, layer)


def _in_list(value: Value, name: str, layer: int) -> Iterator[HeldCredential]:
    """Check the items of a list; an item after an option, as in a command's arguments, has its name."""
    option = ""
    for item in value.items:
        text = item.peek if isinstance(item.peek, str) else ""
        yield from _found(item, option or name, layer)
        option = text.lstrip("-") if re.fullmatch(r"--?[A-Za-z][\w-]*", text) else ""


def _in_text(text: str, name: str, layer: int) -> Iterator[str]:
    for form in _forms():
        for match in form.pattern.finditer(text) if form.holds in text else ():
            if not is_placeholder(match.groupdict().get("secret") or ""):
                yield form.what
                break
    if layer == _LAYERS:
        return
    opened = _opened(text)
    if opened is not None:
        yield from (found.what for found in _found(Value(opened, (), {}), name, layer + 1))
        return
    kind = named_kind(name)
    if kind is not None and can_be(kind, text):
        yield name
    for pattern in (_ASSIGNED, _OPTION):
        for match in pattern.finditer(text):
            kind = named_kind(match["name"])
            if kind is not None and can_be(kind, match["value"]):
                yield match["name"]


def _opened(text: str) -> object | None:
    """Parse a text of JSON, YAML or base64; return None for any other."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        return _structure(stripped)
    if ":\n" in stripped or ": " in stripped:
        return _structure(text)
    if _ESCAPED.search(stripped) and unquote(stripped) != stripped:
        return unquote(stripped)
    packed = _DATA_URL.sub("", stripped, count=1)
    if _HEX.fullmatch(packed) or _BASE64.fullmatch(packed):
        decoded = _decoded(packed)
        if decoded is not None and _BASIC.fullmatch(decoded) and "://" not in decoded:
            return {"password": decoded.partition(":")[2]}
        return decoded
    return None


def _structure(text: str) -> object | None:
    for reader in (read_json, _yaml) if text[:1] in ("{", "[") else (_yaml,):
        with suppress(Unreadable):  # it may be of the other form, or of none
            return reader(text)
    return None


def _yaml(text: str) -> object | None:
    values = [document.value for document in read_documents("", text.encode(errors="replace"))]
    return [value for value in values if not isinstance(value, str)] or None


def _decoded(text: str) -> str | None:
    """Decode hexadecimal digits or base64, compressed or not; return None for other texts."""
    packed = "".join(text.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        data = (
            bytes.fromhex(text)
            if _HEX.fullmatch(text)
            else base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
        )
        if data.startswith(_GZIP):
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MOST_BYTES)
        decoded = data.decode()
    except (binascii.Error, zlib.error, ValueError):
        return None
    return decoded if all(letter.isprintable() or letter.isspace() for letter in decoded) else None


def named_kind(name: str) -> Kind | None:
    """Return the kind of credential that a name implies, or None."""
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
    """Return whether a name implies that its value is not a credential, whatever contains it."""
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _NEUTRAL or bool(_AMOUNTS.intersection(words)))


def can_be(kind: Kind, text: str) -> bool:
    """Return whether a text can be a credential of a kind: no placeholder, reference or object name."""
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
    """Return whether a text is a placeholder for a credential."""
    return _PLACEHOLDER.match(text) is not None
