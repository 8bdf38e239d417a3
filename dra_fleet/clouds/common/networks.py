"""Whether ranges of addresses hold most of the Internet, however they are written or divided."""

from __future__ import annotations

from ipaddress import IPV4LENGTH, IPV6LENGTH, IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_INTERNET: Final = (ip_network("0.0.0.0/0"), ip_network("2000::/3"))
"""Everybody's addresses; in version 6 all global ones.

https://www.iana.org/assignments/ipv6-address-space
"""


_MAPPED: Final = IPV6LENGTH - IPV4LENGTH


def network(text: str | None) -> IPv4Network | IPv6Network | None:
    """The range that a text says, bits behind its prefix or not; None if it is none.

    One of version 4 within version 6 is that of version 4: https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2
    """
    try:
        read = ip_network((text or "").strip(), strict=False)
    except ValueError:
        return None
    mapped = read.network_address.ipv4_mapped if isinstance(read, IPv6Network) else None
    if mapped is None or read.prefixlen < _MAPPED:
        return read
    return ip_network(f"{mapped}/{read.prefixlen - _MAPPED}")


def prefix(text: str | None) -> int:
    """The bits that are fixed in a range; as many as there are for what is none."""
    read = network(text)
    return IPV6LENGTH if read is None else read.prefixlen


def is_open(ranges: Iterable[str | None]) -> bool:
    """Whether some ranges together hold half of the addresses of either version, or more."""
    read = [each for each in map(network, ranges) if each is not None]
    return any(
        2 * sum(_common(each, internet) for each in _collapsed(read, internet.version))
        >= internet.num_addresses
        for internet in _INTERNET
    )


def _collapsed(
    read: Iterable[IPv4Network | IPv6Network], version: int
) -> Iterable[IPv4Network | IPv6Network]:
    """The ranges of a version, none within another."""
    if version == 4:  # noqa: PLR2004 - of the Internet Protocol
        return collapse_addresses(each for each in read if isinstance(each, IPv4Network))
    return collapse_addresses(each for each in read if isinstance(each, IPv6Network))


def _common(one: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> int:
    """How many addresses two ranges share: of two ranges one lies within the other, or they share none."""
    return min(one.num_addresses, other.num_addresses) if one.overlaps(other) else 0
