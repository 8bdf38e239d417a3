"""The fleet map: clusters, their pools, and each node as a grid of devices, marked by who holds them.

A user has a separate colour and letter, so that colour is never the only sign. The devices that one
pod holds are one shape. A node's partitions are laid out with one row per GPU.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING

from dra_fleet.review.kinds import counted, short_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.review.model import Device, Node, Pool, Review

CELL = 18
"""Pixels from one device to the next."""
SQUARE = 16
COLOURS = 8
"""Colours of the style sheet for users of devices; letters distinguish users with the same colour."""
DRAWN = 12_000
"""Devices that are drawn at most; what is beyond is counted."""
NODES_OF_A_POOL = 12
"""Nodes that are drawn of one pool at most."""
_ROW = 8
_LETTERS = ascii_uppercase + ascii_lowercase + digits
_PARTITION = re.compile(r"^(gpu-\d+)-mig-")


@dataclass(frozen=True, kw_only=True)
class DeviceRun:
    """Devices of a node that one pod holds, or that are free. `number`: the holder's.

    `xs` and `ys`: where its letter stands on each device. `mark`: a filled corner on each that it loses.
    """

    number: int | None
    label: str
    colour: int | None
    path: str
    xs: str
    ys: str
    title: str
    loses: bool
    mark: str


@dataclass(frozen=True, kw_only=True)
class NodeMap:
    """A node, or `times` nodes alike."""

    name: str
    times: int
    width: int
    height: int
    held: tuple[DeviceRun, ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class PoolMap:
    """A pool's nodes; `more_nodes` are not drawn."""

    pool: Pool
    nodes: tuple[NodeMap, ...]
    more_nodes: int


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A line of the legend: a workload, its sign, how many of the drawn devices it holds."""

    number: int
    name: str
    label: str
    colour: int
    devices: int


@dataclass(frozen=True, kw_only=True)
class ClusterMap:
    """A cluster's pools, who holds their devices, and what is not drawn."""

    name: str
    pools: tuple[PoolMap, ...]
    legend: tuple[Holder, ...]
    free: int
    loses: int
    more_pools: tuple[str, ...]

    @property
    def text(self) -> str:
        """Description of the picture."""
        holders = ", ".join(f"{item.name} holds {counted(item.devices, 'device')}" for item in self.legend)
        drawn = f"{counted(len(self.pools), 'pool')} of cluster {self.name}: "
        return drawn + (f"{holders}; " if holders else "") + f"{counted(self.free, 'device')} free"


def fleet_map(review: Review) -> tuple[ClusterMap, ...]:
    """All clusters, in the order of the pools; large fleets are drawn up to DRAWN devices."""
    lost = {(pod.cluster, pod.name) for pod in review.blast.pods}
    left = DRAWN
    clusters: list[ClusterMap] = []
    for name in dict.fromkeys(pool.cluster for pool in review.pools):
        pools = [pool for pool in review.pools if pool.cluster == name]
        fitting = _fitting(pools, left)
        left -= sum(_devices(pool) for pool in fitting)
        losing = frozenset(pod for cluster, pod in lost if cluster == name)
        clusters.append(_cluster(name, fitting, losing, [pool.name for pool in pools[len(fitting) :]]))
    return tuple(clusters)


def _fitting(pools: Sequence[Pool], left: int) -> list[Pool]:
    fitting: list[Pool] = []
    for pool in pools:
        left -= _devices(pool)
        if left < 0:
            break
        fitting.append(pool)
    return fitting


def _devices(pool: Pool) -> int:
    return sum(len(node.devices) for node in pool.nodes[:NODES_OF_A_POOL])


def _cluster(name: str, pools: Sequence[Pool], losing: frozenset[str], more: Sequence[str]) -> ClusterMap:
    amounts: Counter[str] = Counter()
    for device, times in _each(pools):
        amounts[device.holder] += times
    free = amounts.pop("", 0)
    signs = {holder: number for number, holder in enumerate(sorted(amounts))}
    legend = tuple(
        Holder(
            number=sign,
            name=holder,
            label=letter(sign),
            colour=sign % COLOURS,
            devices=amounts[holder],
        )
        for holder, sign in signs.items()
    )
    return ClusterMap(
        name=name,
        pools=tuple(_pool(pool, signs, losing) for pool in pools),
        legend=legend,
        free=free,
        loses=sum(times for device, times in _each(pools) if device.pod in losing),
        more_pools=tuple(more),
    )


def _each(pools: Sequence[Pool]) -> Iterator[tuple[Device, int]]:
    for pool in pools:
        for node in pool.nodes[:NODES_OF_A_POOL]:
            for device in node.devices:
                yield device, node.times


def letter(number: int) -> str:
    """Return one character for a numbered user; with its colour unique for the first 248 of a cluster."""
    return _LETTERS[number % len(_LETTERS)]


def _pool(pool: Pool, signs: dict[str, int], losing: frozenset[str]) -> PoolMap:
    shown = pool.nodes[:NODES_OF_A_POOL]
    nodes = tuple(_node(node, signs, losing) for node in shown)
    return PoolMap(pool=pool, nodes=nodes, more_nodes=sum(node.times for node in pool.nodes[len(shown) :]))


def _node(node: Node, signs: dict[str, int], losing: frozenset[str]) -> NodeMap:
    places = _places(node.devices)
    groups: dict[tuple[str, str], list[tuple[Device, tuple[int, int]]]] = {}
    for device, place in zip(node.devices, places, strict=True):
        groups.setdefault((device.holder, device.pod), []).append((device, place))
    amounts = Counter(device.holder or "free" for device in node.devices)
    reported = ", ".join(f"{name} {count}" for name, count in sorted(amounts.items()))
    return NodeMap(
        name=node.name,
        times=node.times,
        width=max((column for column, _ in places), default=0) * CELL + SQUARE + 2,
        height=max((row for _, row in places), default=0) * CELL + SQUARE + 2,
        held=tuple(_user_entry(holder, pod, found, signs, losing) for (holder, pod), found in groups.items()),
        text=f"{node.name}, {counted(len(node.devices), 'device')}: {reported or 'none'}",
    )


def _places(devices: Sequence[Device]) -> list[tuple[int, int]]:
    """Return the column and row of each device: partitions in one row per GPU, others in rows of eight."""
    rows: dict[str, int] = {}
    columns: Counter[str] = Counter()
    places: list[tuple[int, int]] = []
    for number, device in enumerate(devices):
        found = _PARTITION.match(device.name)
        key = found[1] if found else f"row {number // _ROW}"
        row = rows.setdefault(key, len(rows))
        places.append((columns[key], row))
        columns[key] += 1
    return places


def _user_entry(
    holder: str,
    pod: str,
    found: Sequence[tuple[Device, tuple[int, int]]],
    signs: dict[str, int],
    losing: frozenset[str],
) -> DeviceRun:
    corners = [(column * CELL + 1, row * CELL + 1) for _, (column, row) in found]
    loses = bool(pod) and pod in losing
    devices = short_list([device.name for device, _ in found])
    kinds = short_list(sorted({device.kind for device, _ in found}))
    who = f"{holder}{f', pod {pod}' if pod else ''}" if holder else "free"
    sign = signs.get(holder)
    return DeviceRun(
        number=sign,
        label="" if sign is None else letter(sign),
        colour=None if sign is None else sign % COLOURS,
        path="".join(f"M{x} {y}h{SQUARE}v{SQUARE}h-{SQUARE}z" for x, y in corners),
        xs=" ".join(str(x + SQUARE // 2) for x, _ in corners),
        ys=" ".join(str(y + SQUARE // 2 + 4) for _, y in corners),
        title=f"{who}: {devices} ({kinds}){'; loses its device' if loses else ''}",
        loses=loses,
        mark="".join(f"M{x + SQUARE} {y + 7}v9h-9z" for x, y in corners) if loses else "",
    )
