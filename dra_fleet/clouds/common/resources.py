"""Answers that several clouds give of their resources in the same way."""

from __future__ import annotations

import re
from ipaddress import IPV4LENGTH, IPV6LENGTH, IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.pools import steps
from dra_fleet.clouds.resources import CloudDevicePlugin, Fault, VersionField

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import OtherPools
    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.model.hardware import Machine


_INTERNET: Final = (ip_network("0.0.0.0/0"), ip_network("2000::/3"))
"""Everybody's addresses; in version 6 all global ones.

https://www.iana.org/assignments/ipv6-address-space
"""

_MAPPED: Final = IPV6LENGTH - IPV4LENGTH

_LISTED: Final = "listed ranges, or no public address"


def version_field(types: str, path: str, *, otherwise: str = "") -> VersionField:
    """Return a version field from the pattern of its types and its dotted path."""
    return VersionField(types=re.compile(types), path=steps(path), otherwise=otherwise)


def no_other_pools(_: Resource) -> OtherPools:
    """Return no pools, for a cloud that creates only declared pools."""
    return "none"


def no_machines() -> Mapping[str, Machine]:
    """Return no machines, for a cloud whose machine types are unknown."""
    return {}


def plugin_unless_labelled(pool: NodePool, key: str, value: str, title: str) -> CloudDevicePlugin | None:
    """Return the device plugin that runs on a pool's nodes unless they have a label."""
    label = pool.label(key)
    if label.unknown or label.text == value:
        return None
    return CloudDevicePlugin(title=title, at=pool.labels, off=f'add the label {key}: "{value}" to the pool')


def open_ranges(ranges: Value, fix: str) -> Iterator[Fault]:
    """Report ranges that are open to everybody; an empty list is open."""
    if ranges.unknown:
        return
    if not ranges.items:
        yield open_address(ranges, fix)
    yield from open_to_everybody(ranges.items, fix)


def open_to_everybody(ranges: Sequence[Value], fix: str) -> Iterator[Fault]:
    """Report ranges that include most of the Internet, alone or together, and invalid ranges.

    An unknown range is noted.
    """
    for each in ranges:
        if not each.unknown and network(each.text) is None:
            yield Fault(
                at=each,
                problem=f"is {each.shown}, no range of addresses, so nothing reports whom it lets in",
                allowed=_LISTED,
                fix="write an address or a range, such as 203.0.113.0/24",
            )
    alone = [each for each in ranges if is_open([each.text])]
    yield from (open_address(each, fix) for each in alone)
    if not alone and is_open([each.text for each in ranges]):
        widest = min(ranges, key=lambda each: prefix(each.text))
        yield Fault(
            at=widest,
            problem=f"is {widest.shown}, and together with the other ranges most of the Internet reaches "
            "the API server",
            allowed=_LISTED,
            fix=fix,
        )


def open_address(at: Value, fix: str) -> Fault:
    """Return the fault of a field that opens the API server to every address."""
    return Fault(
        at=at,
        problem=f"is {at.shown}, so every address of the Internet reaches the API server",
        allowed=_LISTED,
        fix=fix,
    )


def network(text: str | None) -> IPv4Network | IPv6Network | None:
    """Parse a range, with or without host bits; None if it is invalid.

    An IPv4-mapped IPv6 range is an IPv4 range: https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2
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
    """Return the length of a range's prefix; the maximum if the range is invalid."""
    read = network(text)
    return IPV6LENGTH if read is None else read.prefixlen


def is_open(ranges: Iterable[str | None]) -> bool:
    """Return True if the ranges together include at least half of the IPv4 or IPv6 addresses."""
    read = [each for each in map(network, ranges) if each is not None]
    return any(
        2 * sum(_common(each, internet) for each in _collapsed(read, internet.version))
        >= internet.num_addresses
        for internet in _INTERNET
    )


def _collapsed(
    read: Iterable[IPv4Network | IPv6Network], version: int
) -> Iterable[IPv4Network | IPv6Network]:
    if version == 4:  # noqa: PLR2004 - of the Internet Protocol
        return collapse_addresses(each for each in read if isinstance(each, IPv4Network))
    return collapse_addresses(each for each in read if isinstance(each, IPv6Network))


def _common(one: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> int:
    """Return the number of addresses in both ranges. One contains the other, or they are disjoint."""
    return min(one.num_addresses, other.num_addresses) if one.overlaps(other) else 0
