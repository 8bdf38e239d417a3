"""Answers that several clouds give of their resources in the same way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.common.networks import is_open, network, prefix
from dra_fleet.clouds.pools import steps
from dra_fleet.clouds.resources import CloudDevicePlugin, Fault, VersionField

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import OtherPools
    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.model.hardware import Machine

_LISTED: Final = "listed ranges, or no public address"


def version_field(types: str, path: str, *, otherwise: str = "") -> VersionField:
    """A field of a version by the pattern of its types and its dotted path."""
    return VersionField(types=re.compile(types), path=steps(path), otherwise=otherwise)


def no_other_pools(_: Resource) -> OtherPools:
    """The answer of a cloud that makes no pool unless it is asked to."""
    return "none"


def no_machines() -> Mapping[str, Machine]:
    """The machines of a cloud of which none are known."""
    return {}


def plugin_unless_labelled(pool: NodePool, key: str, value: str, title: str) -> CloudDevicePlugin | None:
    """A device plugin that runs on a pool's nodes unless they carry a label."""
    label = pool.label(key)
    if label.unknown or label.text == value:
        return None
    return CloudDevicePlugin(title=title, at=pool.labels, off=f'add the label {key}: "{value}" to the pool')


def open_ranges(ranges: Value, fix: str) -> Iterator[Fault]:
    """What is open to everybody in a list of ranges; nothing listed means everybody."""
    if ranges.unknown:
        return
    if not ranges.items:
        yield open_address(ranges, fix)
    yield from open_to_everybody(ranges.items, fix)


def open_to_everybody(ranges: Sequence[Value], fix: str) -> Iterator[Fault]:
    """The ranges of a list that holds most of the Internet, alone or together, and what is no range.

    A range that is unknown is noted.
    """
    for each in ranges:
        if not each.unknown and network(each.text) is None:
            yield Fault(
                at=each,
                problem=f"is {each.shown}, no range of addresses, so nothing tells whom it lets in",
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
    """A place that lets every address reach the API server."""
    return Fault(
        at=at,
        problem=f"is {at.shown}, so every address of the Internet reaches the API server",
        allowed=_LISTED,
        fix=fix,
    )
