"""Readers of each cloud's resources in any program, for the gate and the review.

No field has a default. A cloud that does not know an answer gives `nothing` or `untold`. A cloud written
before a field was added fails to load, with the field's name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from dra_fleet.core.declared.values import Value

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from dra_fleet.clouds.pools import NodePool, PoolForm
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.model.hardware import Machine

OtherPools = Literal["none", "plain", "any"]
"""Pools that no resource describes: none, of machines without accelerators, or of any machine."""
NO_TYPE: Final = re.compile(r"(?!)")
"""Matches no type and no name: the answer of a cloud that has none."""


def nothing(*_: object) -> tuple[()]:
    """Return an empty answer, for a cloud that has none of the requested resources."""
    return ()


def untold(*_: object) -> None:
    """Return None, for a cloud whose resources do not report the answer."""


class VersionField(Struct, frozen=True, kw_only=True):
    """Field with the Kubernetes version of a resource.

    Attributes:
        types: the resource's type token.
        path: path of the field; `*` stands for each item of a list.
        otherwise: the cloud's choice if the field is absent; empty if another resource sets the version.
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
        """True if the field must be set, because no other resource sets the version."""
        return bool(self.otherwise)

    def values(self, resource: Resource) -> list[Value]:
        """Return the versions of a resource; none if its type does not match."""
        found = resource.properties.every(*self.path) if self.types.fullmatch(resource.type) else []
        written = self.written
        if self.inside is not None:
            matches = ((each, self.inside.fullmatch(str(each.peek or ""))) for each in found)
            return [Value(match[1], each.path, {}, secret=each.secret) for each, match in matches if match]
        return [each for each in found if written is None or written.fullmatch(each.text or "")]


class MachineTemplate(Struct, frozen=True, kw_only=True):
    """A resource that holds the machine type of the pools that depend on it, at the dotted path `machine`.

    Attributes:
        types: the template's type.
        machine: its machine.
        named_at: where a pool names it.
    """

    types: re.Pattern[str]
    machine: str
    named_at: str


class Support(Struct, frozen=True, kw_only=True):
    """End of a cloud's support for a minor.

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


class Fault(Struct, frozen=True, kw_only=True):
    """A fault: the problem, its place, what is allowed there and the fix."""

    at: Value
    problem: str
    allowed: str
    fix: str


class CloudDevicePlugin(Struct, frozen=True, kw_only=True):
    """A device plugin that a cloud installs on a pool's nodes, its place and how to turn it off."""

    title: str
    at: Value
    off: str


class GpuDriverOwner(Struct, frozen=True, kw_only=True):
    """Component that installs a pool's GPU driver (empty for none), and how to change it.

    `label`: label key that the pool's nodes then have and that keeps other installers off; empty for none.
    """

    at: Value
    owner: str
    other: str
    label: str = ""


class ManagedPlugins(Struct, frozen=True, kw_only=True):
    """The cloud-managed device plugin of pools, for all types of resources that declare them.

    Attributes:
        types: the resources with the choice.
        places: fields of the choice.
        on: the value that installs the plugin.
        off: the value that does not.
        owner: owner of the plugin.
    """

    types: re.Pattern[str]
    places: Callable[[Resource], Iterable[Value]]
    on: str
    off: str
    owner: str


class DraPools(Struct, frozen=True, kw_only=True):
    """Labels that prepare a pool for DRA, if a cloud needs several.

    Attributes:
        labels: every required label with the value `true`, and the effect if it is missing.
        telling: the labels that only a pool for DRA has.
        unprepared: other missing preparation of such a pool.
    """

    labels: Mapping[str, str]
    telling: tuple[str, ...]
    unprepared: Callable[[NodePool], Iterable[Fault]]


class CloudResources(Struct, frozen=True, kw_only=True):
    """The answers of one cloud.

    Attributes:
        clusters: the types of its control planes.
        cluster_components: types of third-party components that contain a control plane.
        versions: every field with a version of Kubernetes.
        support: end of support of a minor; None if the cloud does not support clusters.
        local_accounts: fields that enable accounts other than the cloud's identities.
        public_addresses: fields that open a control plane's API server to every address.
        pools: the resources that declare pools.
        other_pools: pools of a control plane that its program does not declare.
        system_pool: name of dra-fleet's pool for system pods; empty if there is none.
        machine_templates: types of templates that may name a pool's machine.
        machines: known machine types by name.
        machines_from_fields: machines of a pool without a machine type, from its other fields.
        gpu_families: patterns of unknown machines with a driver's GPUs, by driver name.
        plain_families: pattern of unknown machines that have no accelerator.
        gpu_drivers_from_fields: drivers whose GPUs a pool has, from fields other than its machine; None if
            unknown.
        own_labels: pattern of the label keys that it sets on nodes.
        labels_by_hand: keys that match the pattern but that only the pool sets.
        labels_gpus: True if its images label nodes by the GPUs found on them.
        added_taints: taints, all `NoSchedule`, that it adds to a pool's nodes.
        device_plugin: device plugin that it installs on a pool's nodes; None if it is off.
        specifies_images: whether the program specifies the node images of a resource; None if only a pool
            can.
        managed_plugins: choice of its managed device plugin on a pool; None if there is none.
        gpu_driver_owner: component that installs a pool's GPU driver; None if unknown.
        gpu_driver_root: path of the GPU driver on a pool's nodes: empty if an operator decides, None if
            unknown.
        gpu_driver_images: container images that install its GPU driver.
        partitions: fields other than labels with which a pool partitions its GPUs.
        unpredicted: devices of a pool that its autoscaler does not predict on a first node, and the minimum
            size this requires; the flag is True if a DRA driver serves the pool.
        wrong_images: node images that do not fit a pool's machines, or have no GPU driver for them; the flag
            is True if another component installs one.
        dra_pools: labels that prepare a pool for DRA; None if no label does.
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
    known_machines: Callable[[NodePool], Sequence[Machine]]
    gpu_families: Mapping[str, re.Pattern[str]]
    plain_families: re.Pattern[str]
    known_gpus: Callable[[NodePool], Collection[str] | None]
    own_labels: re.Pattern[str]
    labels_by_hand: frozenset[str]
    labels_gpus: bool
    added_taints: Callable[[NodePool], Iterable[tuple[str, str]]]
    device_plugin: Callable[[Stack, NodePool], CloudDevicePlugin | None]
    known_images: Callable[[Stack, Resource], bool | None]
    managed_plugins: ManagedPlugins | None
    gpu_driver_owner: Callable[[NodePool], GpuDriverOwner | None]
    gpu_driver_root: Callable[[NodePool], str | None]
    gpu_driver_images: Callable[[], Iterable[str]]
    partitions: Callable[[Stack, NodePool], Sequence[Value]]
    unpredicted: Callable[[NodePool, bool], Iterable[tuple[str, str]]]
    wrong_images: Callable[[Stack, NodePool, Callable[[], bool]], Iterable[Fault]]
    dra_pools: DraPools | None

    def sets_label(self, key: str) -> bool:
        """Return whether the cloud, not the pool, sets a label on nodes."""
        return self.own_labels.search(key) is not None and key not in self.labels_by_hand
