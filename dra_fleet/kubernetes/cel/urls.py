"""URLs in CEL, as Go's net/url reads them.

Sources: https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/library/urls.go and
https://github.com/golang/go/blob/go1.26.0/src/net/url/url.go. Text is handled as Go does it, byte by byte:
within this module each character of a string stands for one byte.
"""

from __future__ import annotations

import ipaddress
import re
import string
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import messages
from dra_fleet.kubernetes.cel.implementation import Implementation, unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from dra_fleet.kubernetes.cel.messages import Message

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_PORT = re.compile(r"(?::[0-9]*)?")
_ESCAPE = re.compile(r"%(?:([0-9A-Fa-f]{2})|.{0,2})", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_ASCII = 0x80

# What each part of a URL holds as it is.
_PLAIN = string.ascii_letters + string.digits + "-._~"
_IN_PATH = frozenset(_PLAIN + "$&+,/:;=@")
_IN_USER = frozenset(_PLAIN + "$&+,;=")
_IN_HOST = frozenset(_PLAIN + "!\"$&'()*+,:;<=>[]")
_IN_FRAGMENT = frozenset(_PLAIN + "!$&()*+,/:;=?@")
_LEFT_ALONE = frozenset("!$&'()*+,;=:@[]%")


@dataclass(frozen=True, kw_only=True)
class _Url:
    """A URL in parts. All are escaped but `host`; `user` and `query` are None where there is none."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    query: str | None = None
    fragment: str = ""
    has_authority: bool = False

    def __str__(self) -> str:
        """The URL put together again, by which two are compared."""
        scheme = f"{self.scheme}:" if self.scheme else ""
        start = ""
        if self.scheme or self.host or self.user is not None:
            is_written = self.has_authority or self.host or self.user is not None
            start = "//" if is_written and (self.host or self.path or self.user is not None) else ""
            start += "" if self.user is None else f"{self.user}@"
            start += _escape(self.host, _IN_HOST)
        rest = self.opaque or start + self.path
        query = "" if self.query is None else f"?{self.query}"
        return scheme + rest + query + (f"#{self.fragment}" if self.fragment else "")


@lru_cache(maxsize=1024)
def _parse(text: str) -> _Url:
    whole, _, fragment = _bytes(text).partition("#")
    return replace(_read(whole, is_request=False), fragment=_kept(fragment, _IN_FRAGMENT))


def is_url(text: str) -> bool:
    """Whether a text is an absolute URL, or a path from the root."""
    try:
        _read(_bytes(text), is_request=True)
    except ValueError:
        return False
    return True


def _read(raw: str, *, is_request: bool) -> _Url:
    if _CONTROL.search(raw):
        raise ValueError("invalid control character in URL")
    if raw == "*":
        return _Url(path="*")
    if raw.startswith(":"):
        raise ValueError("missing protocol scheme")
    match = _SCHEME.fullmatch(raw)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", raw)
    rest, mark, written = rest.partition("?")
    query = written if mark else None
    if not rest.startswith("/") and scheme:
        return _Url(scheme=scheme, opaque=rest, query=query)
    if not rest.startswith("/") and is_request:
        raise ValueError("invalid URI for request" if raw else "empty url")
    has_authority = rest.startswith("//") and bool(scheme or not (is_request or rest.startswith("///")))
    if not has_authority:
        return _Url(scheme=scheme, path=_kept(rest, _IN_PATH), query=query)
    authority, slash, path = rest[2:].partition("/")
    user, host = _authority(scheme, authority)
    path = _kept(slash + path, _IN_PATH)
    return _Url(scheme=scheme, user=user, host=host, path=path, query=query, has_authority=True)


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, written = authority.rpartition("@")
    host = _host(scheme, written)
    if not at:
        return None, host
    if not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    escaped = [_escape(_unescape(part), _IN_USER) for part in (name, password)]
    return colon.join(escaped) if colon else escaped[0], host


def _host(scheme: str, host: str) -> str:
    opened = host.rfind("[")
    if opened > 0:
        raise ValueError("invalid IP-literal")
    if opened == 0:
        inside, closed, port = host[1:].rpartition("]")
        if not closed:
            raise ValueError("missing ']' in host")
        _require_port(port)
        return f"[{_literal(inside)}]{port}"
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        _require_port(host[first if scheme in ("http", "https") else last :])
    return _unescape_host(host)


def _literal(inside: str) -> str:
    """An IPv6 address in brackets, whose zone begins with an escaped %."""
    address, zoned, zone = inside.partition("%25")
    text = _unescape_host(address) + (_unescape_zone(zoned + zone) if zoned else "")
    try:
        ipaddress.IPv6Address(text)
    except ValueError as problem:
        raise ValueError(f"invalid host: {problem}") from None
    return text


def _require_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {port!r} after host")


def _unescape(text: str, *, refused: Callable[[str], bool] = lambda _: False) -> str:
    """A text without its escapes, which must be whole."""

    def plain(match: re.Match[str]) -> str:
        if match[1] is None or (match[0] != "%25" and refused(chr(int(match[1], 16)))):
            raise ValueError(f"invalid URL escape {match[0]!r}")
        return chr(int(match[1], 16))

    return _ESCAPE.sub(plain, text)


def _unescape_host(text: str) -> str:
    _require_host_characters(text)
    return _unescape(text, refused=lambda byte: ord(byte) < _ASCII)


def _unescape_zone(text: str) -> str:
    _require_host_characters(text)
    return _unescape(text, refused=lambda byte: byte != " " and byte not in _IN_HOST)


def _require_host_characters(text: str) -> None:
    for byte in _ESCAPE.sub("", text):
        if ord(byte) < _ASCII and byte not in _IN_HOST:
            raise ValueError(f"invalid character {byte!r} in host name")


def _escape(text: str, plain: frozenset[str]) -> str:
    return "".join(byte if byte in plain else f"%{ord(byte):02X}" for byte in text)


def _kept(text: str, plain: frozenset[str]) -> str:
    """An escaped path or fragment: as it was written if that is a valid way to write it."""
    unescaped = _unescape(text)
    is_valid = all(byte in plain or byte in _LEFT_ALONE for byte in text)
    return text if is_valid else _escape(unescaped, plain)


def _host_and_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, ""
    return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port


def _query(url: _Url) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for setting in (url.query or "").split("&"):
        if not setting or ";" in setting:
            continue
        try:
            key, value = (_unescape(part.replace("+", " ")) for part in setting.partition("=")[::2])
        except ValueError:
            continue
        found.setdefault(_text(key), []).append(_text(value))
    return found


def _bytes(text: str) -> str:
    return text.encode().decode("latin-1")


def _text(raw: str) -> str:
    return raw.encode("latin-1").decode()


def _url(text: str) -> Message:
    try:
        _read(_bytes(text), is_request=True)
        return messages.make("URL", _text(str(_parse(text))))
    except ValueError as problem:
        raise ValueError(f"URL parse error during conversion from string: {problem}") from None


def _part(read: Callable[[_Url], object]) -> Implementation:
    def of(message: Message) -> object:
        if messages.type_of(message) != "URL":
            raise ValueError("no such overload")
        found = read(_parse(messages.text_of(message)))
        return _text(found) if isinstance(found, str) else found

    return of


IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
    "url": [("string", _url)],
    "isURL": [("string", unary(is_url))],
    "getScheme": [("message", _part(lambda url: url.scheme))],
    "getHost": [("message", _part(lambda url: url.host))],
    "getHostname": [("message", _part(lambda url: _host_and_port(url.host)[0]))],
    "getPort": [("message", _part(lambda url: _host_and_port(url.host)[1]))],
    "getEscapedPath": [("message", _part(lambda url: url.path))],
    "getQuery": [("message", _part(_query))],
}
