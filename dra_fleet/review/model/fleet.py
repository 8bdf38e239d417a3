"""Pools, their devices and who holds them."""

from __future__ import annotations

from typing import Literal

from dra_fleet.review.model.base import Action, ReviewModel


class Device(ReviewModel):
    """A device on the fleet map. `holder`: the workload that holds it, empty when free; `pod` where known."""

    name: str
    kind: str
    holder: str
    pod: str


class Node(ReviewModel):
    """A node, or `times` nodes alike; `name` is its own where it runs, else `node 1`, `nodes 2-9`."""

    name: str
    times: int
    devices: tuple[Device, ...]


class DeviceKind(ReviewModel):
    """Devices of one sort on a node: `kind` is a short name such as `GPU` or `MIG 1g.5gb`."""

    kind: str
    count: int
    driver: str
    product: str
    memory: str
    multiprocessors: int | None


class Pool(ReviewModel):
    """A pool as it will be, and what is known of it as it was.

    `nodes_now`: nodes that run, None where the clusters were not asked. `kinds`: devices of one node.
    `devices_min`, `devices_max`: on the least and most nodes. `held` of `placed_devices` on the map are held.
    `unpredictable`: why what a driver publishes cannot be told. `change`: what becomes of it; `before` in
    words, empty without change. `strategy` is `exclusive`, `mig` and so on, `layout` such as `1g.5gb x 7`.
    """

    cluster: str
    name: str
    cloud: str
    machine: str
    gpu: str
    nodes_min: int
    nodes_max: int
    nodes_now: int | None
    kinds: tuple[DeviceKind, ...]
    devices_per_node: int
    devices_min: int
    devices_max: int
    unpredictable: tuple[str, ...]
    gpu_driver: str
    taints: tuple[str, ...]
    strategy: str
    layout: str
    isolation: str
    price: float | None
    change: Action
    before: str
    nodes: tuple[Node, ...]
    held: int
    placed_devices: int


class Amounts(ReviewModel):
    """Memory as a quantity and multiprocessors; None where not known, or not asked for."""

    memory: str | None
    multiprocessors: int | None


class Use(ReviewModel):
    """One copy of a workload on a pool: asked, got, stranded; and what a full node leaves unused."""

    cluster: str
    workload: str
    pool: str
    copies: int
    asked: Amounts
    got: Amounts
    stranded: Amounts
    left_on_node: Amounts


class Shared(ReviewModel):
    """How the devices of a pool, or of a workload's claim, are shared and what keeps their holders apart."""

    cluster: str
    kind: Literal["pool", "workload"]
    name: str
    strategy: str
    isolation: str
    isolated: bool
    accepted: str
