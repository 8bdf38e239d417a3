"""IP addresses and CIDR ranges in CEL, as Go's net/netip reads them.

Source: https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/library/ip.go and cidr.go.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import messages
from dra_fleet.kubernetes.cel.implementation import Implementation, unary

if TYPE_CHECKING:
    from collections.abc import Callable

    from dra_fleet.kubernetes.cel.messages import Message

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Range = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_PREFIX = re.compile(r"(.+)/(0|[1-9][0-9]{0,2})")
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")
_LINK_LOCAL_GROUPS = ipaddress.IPv4Network("224.0.0.0/24")
_LINK_LOCAL = {4: ipaddress.ip_network("169.254.0.0/16"), 6: ipaddress.ip_network("fe80::/10")}


@lru_cache(maxsize=1024)
def _address(text: str) -> Address:
    address = ipaddress.ip_address(text)
    if "%" in text:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


@lru_cache(maxsize=1024)
def _range(text: str) -> Range:
    match = _PREFIX.fullmatch(text)
    if match is None:
        raise ValueError(f'network address parse error during conversion from string: "{text}"')
    _address(match[1])
    return ipaddress.ip_interface(text)


def _ip(value: str | Message) -> Message:
    if not isinstance(value, str):
        return messages.make("IP", str(_range_of(value).ip))
    return messages.make("IP", str(_address(value)))


def _cidr(text: str) -> Message:
    return messages.make("CIDR", str(_range(text)))


def _address_of(message: Message) -> Address:
    _expect(message, "IP")
    return _address(messages.text_of(message))


def _range_of(message: Message) -> Range:
    _expect(message, "CIDR")
    return _range(messages.text_of(message))


def _expect(message: Message, name: str) -> None:
    if messages.type_of(message) != name:
        raise ValueError("no such overload")


def _text(message: Message) -> str:
    if messages.type_of(message) not in ("IP", "CIDR"):
        raise ValueError("no such overload: string")
    return messages.text_of(message)


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in _LINK_LOCAL_GROUPS
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02  # noqa: PLR2004


def _is_link_local_unicast(address: Address) -> bool:
    return address in _LINK_LOCAL[address.version]


def _is_global_unicast(address: Address) -> bool:
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address == _BROADCAST
    return not special and not _is_link_local_unicast(address)


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def _contains_address(outer: Message, inner: Message | str) -> bool:
    address = _address(inner) if isinstance(inner, str) else _address_of(inner)
    network = _range_of(outer).network
    return address.version == network.version and address in network


def _contains_range(outer: Message, inner: Message | str) -> bool:
    other = (_range(inner) if isinstance(inner, str) else _range_of(inner)).network
    network = _range_of(outer).network
    return (
        network.version == other.version and network.overlaps(other) and network.prefixlen <= other.prefixlen
    )


def _holds(read: Callable[[str], object]) -> Callable[[str], bool]:
    def is_readable(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return is_readable


IMPLEMENTATIONS: dict[str, list[tuple[str, Implementation]]] = {
    "ip": [("string", _ip), ("message", _ip)],
    "isIP": [("string", _holds(_address))],
    "ip.isCanonical": [("string", _is_canonical)],
    "family": [("message", unary(lambda value: _address_of(value).version))],
    "isUnspecified": [("message", unary(lambda value: _address_of(value).is_unspecified))],
    "isLoopback": [("message", unary(lambda value: _address_of(value).is_loopback))],
    "isLinkLocalMulticast": [("message", unary(lambda value: _is_link_local_multicast(_address_of(value))))],
    "isLinkLocalUnicast": [("message", unary(lambda value: _is_link_local_unicast(_address_of(value))))],
    "isGlobalUnicast": [("message", unary(lambda value: _is_global_unicast(_address_of(value))))],
    "cidr": [("string", _cidr)],
    "isCIDR": [("string", _holds(_range))],
    "containsIP": [("message message", _contains_address), ("message string", _contains_address)],
    "containsCIDR": [("message message", _contains_range), ("message string", _contains_range)],
    "prefixLength": [("message", unary(lambda value: _range_of(value).network.prefixlen))],
    "masked": [("message", unary(lambda value: _cidr(str(_range_of(value).network))))],
    "string": [("message", _text)],
}
