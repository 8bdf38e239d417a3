"""What every cloud says of its own resources, whichever program declares them: the gate and the review ask.

No question has a default: a cloud answers each, with `nothing` or `untold` where it has nothing to say. So a
cloud that was written before a question was added fails when it is loaded, by the question's name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from dra_fleet.core.declared.values import Value

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from dra_fleet.clouds.pools import NodePool, PoolForm
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.model.hardware import Machine

OtherPools = Literal["none", "plain", "any"]
"""Pools that no resource describes: none that are told of, of machines without accelerators, or of any."""
NO_TYPE: Final = re.compile(r"(?!)")
"""Matches no type and no name: the answer of a cloud that has none."""


def nothing(*_: object) -> tuple[()]:
    """The answer of a cloud where there is nothing of what is asked for."""
    return ()


def untold(*_: object) -> None:
    """The answer of a cloud whose resources do not tell what is asked for."""


@dataclass(frozen=True, kw_only=True)
class VersionField:
    """Where a resource says which Kubernetes it runs.

    Attributes:
        types: the resource's type token.
        path: where it says it; `*` stands for each item of a list.
        otherwise: what the cloud chooses where it is not said; empty where another resource says it.
        written: the texts that are versions of Kubernetes, where the field holds others as well.
        inside: the texts that contain a version, as their first group; others are no versions.
    """

    types: re.Pattern[str]
    path: tuple[str, ...]
    otherwise: str
    written: re.Pattern[str] | None = None
    inside: re.Pattern[str] | None = None

    @property
    def required(self) -> bool:
        """Whether it must be said, because nothing else of the program says it."""
        return bool(self.otherwise)

    def values(self, resource: Resource) -> list[Value]:
        """The versions of a resource; none of another type of resource."""
        found = resource.properties.every(*self.path) if self.types.fullmatch(resource.type) else []
        written = self.written
        if self.inside is not None:
            matches = ((each, self.inside.fullmatch(str(each.peek or ""))) for each in found)
            return [Value(match[1], each.path, {}, secret=each.secret) for each, match in matches if match]
        return [each for each in found if written is None or written.fullmatch(each.text or "")]


@dataclass(frozen=True, kw_only=True)
class MachineTemplate:
    """A resource that holds the machine type of the pools that depend on it, at the dotted path `machine`.

    Attributes:
        types: the template's type.
        machine: its machine.
        named_at: where a pool names it.
    """

    types: re.Pattern[str]
    machine: str
    named_at: str


@dataclass(frozen=True, kw_only=True)
class Support:
    """Until when a cloud supports a minor.

    Attributes:
        by: what supports it, for people.
        standard_end: the last day for a cluster that pays for no more; None where nothing public says it.
        end: the last day for a cluster as it is declared; None where upstream's holds.
        source: the public page that says so; empty where there is none.
    """

    by: str
    standard_end: Callable[[str], dt.date | None]
    end: Callable[[Resource, str], dt.date | None]
    source: Callable[[], str]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong at a place, what is allowed there and how to mend it."""

    at: Value
    problem: str
    allowed: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class CloudDevicePlugin:
    """A device plugin that a cloud brings to a pool's nodes, the place of that and how to turn it off."""

    title: str
    at: Value
    off: str


@dataclass(frozen=True, kw_only=True)
class GpuDriverOwner:
    """Who installs the GPU driver by a pool's own words, empty for nobody, and how to change that.

    `label` is the key that the pool's nodes then carry, by which other installers keep off; empty for none.
    """

    at: Value
    owner: str
    other: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class ManagedPlugins:
    """Where a cloud can manage a device plugin of its own on pools, whatever type of resource declares them.

    Attributes:
        types: the resources in which it can be chosen.
        places: where they choose.
        on: the choice that brings the plugin.
        off: the choice that does not.
        owner: whose plugin it is.
    """

    types: re.Pattern[str]
    places: Callable[[Resource], Iterable[Value]]
    on: str
    off: str
    owner: str


@dataclass(frozen=True, kw_only=True)
class DraPools:
    """What prepares a pool for DRA where that takes several settings.

    Attributes:
        labels: every label that it takes, to `true`, and what follows without it.
        telling: those of them that only a pool for DRA has.
        unprepared: what else of such a pool is not prepared.
    """

    labels: Mapping[str, str]
    telling: tuple[str, ...]
    unprepared: Callable[[NodePool], Iterable[Fault]]


@dataclass(frozen=True, kw_only=True)
class CloudResources:
    """The answers of one cloud.

    Attributes:
        clusters: the types of its control planes.
        cluster_components: the types of others' components that hold a control plane.
        versions: every place where a version of Kubernetes is given.
        support: until when it supports a minor; None where it is not the cloud that does.
        local_accounts: what gives a control plane accounts beside the cloud's identities.
        public_addresses: what lets every address reach a control plane's API server.
        pools: the resources that declare pools.
        other_pools: what a control plane has of pools that its program does not describe.
        system_pool: what this program calls a pool of its own for system pods; empty where it makes none.
        machine_templates: what may name a pool's machine in its place.
        machines: its machine types that are known, by name.
        machines_told: the machines of a pool that names none of these, by what else it says.
        gpu_families: by the name of a driver what matches names of machines with its GPUs, for machines that
            are not known.
        plain_families: matches names of machines that surely have no accelerator, for such machines.
        gpus_told: the names of drivers whose GPUs a pool has by what it says beside its machine; None if that
            does not tell.
        own_labels: finds keys of labels that it puts on nodes itself.
        labels_by_hand: keys that look like these, and that a node has only where its pool names them.
        labels_gpus: whether its images label nodes by the GPUs found on them.
        added_taints: the taints, all `NoSchedule`, that it puts on a pool's nodes itself.
        device_plugin: the device plugin that it brings to a pool's nodes; None if that is off.
        images_told: whether the program says which images nodes have that a resource makes, or is named for;
            None where nothing beside a pool says it.
        managed_plugins: where its own device plugin is managed for a pool; None where it manages none.
        gpu_driver_owner: who installs a pool's GPU driver; None if nothing tells.
        gpu_driver_root: where the GPU driver is on a pool's nodes: empty where an operator says it, None if
            nothing tells.
        gpu_driver_images: the container images that install its GPU driver.
        partitions: where a pool asks for partitions of its GPUs beside its labels.
        unpredicted: which devices of a pool its autoscaler does not expect of a first node, and how many
            nodes the pool must keep; told whether a DRA driver serves the pool.
        wrong_images: node images that do not fit a pool's machines, or have no GPU driver for them; told
            whether something else installs one.
        dra_pools: what prepares a pool for DRA; None where no labels do.
    """

    clusters: re.Pattern[str]
    cluster_components: re.Pattern[str]
    versions: tuple[VersionField, ...]
    support: Support | None
    local_accounts: Callable[[Resource], Iterable[Fault]]
    public_addresses: Callable[[Resource], Iterable[Fault]]
    pools: tuple[PoolForm, ...]
    other_pools: Callable[[Resource], OtherPools]
    system_pool: str
    machine_templates: tuple[MachineTemplate, ...]
    machines: Callable[[], Mapping[str, Machine]]
    machines_told: Callable[[NodePool], Sequence[Machine]]
    gpu_families: Mapping[str, re.Pattern[str]]
    plain_families: re.Pattern[str]
    gpus_told: Callable[[NodePool], Collection[str] | None]
    own_labels: re.Pattern[str]
    labels_by_hand: frozenset[str]
    labels_gpus: bool
    added_taints: Callable[[NodePool], Iterable[tuple[str, str]]]
    device_plugin: Callable[[Stack, NodePool], CloudDevicePlugin | None]
    images_told: Callable[[Stack, Resource], bool | None]
    managed_plugins: ManagedPlugins | None
    gpu_driver_owner: Callable[[NodePool], GpuDriverOwner | None]
    gpu_driver_root: Callable[[NodePool], str | None]
    gpu_driver_images: Callable[[], Iterable[str]]
    partitions: Callable[[Stack, NodePool], Sequence[Value]]
    unpredicted: Callable[[NodePool, bool], Iterable[tuple[str, str]]]
    wrong_images: Callable[[Stack, NodePool, Callable[[], bool]], Iterable[Fault]]
    dra_pools: DraPools | None
