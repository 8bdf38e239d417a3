"""What AWS is asked for: a cluster and its node groups, as frozen values with final names.

Source: https://docs.aws.amazon.com/eks/latest/APIReference/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.settings.outputs import TextOrOutput


@dataclass(frozen=True, kw_only=True)
class EksNetworkPlan:
    """A VPC of the stack's own: its range, and the zones that have subnets."""

    cidr: str
    zones: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EksSystemGroupPlan:
    """The node group of the cluster's own pods."""

    instance_type: str
    ami_type: str
    least: int
    most: int


@dataclass(frozen=True, kw_only=True)
class EksCreation:
    """A cluster that the stack creates. `network`: None where subnets are there.

    `public_ranges`: from where the API server is reached; none where its address is private.
    """

    network: EksNetworkPlan | None
    cluster_role: TextOrOutput | None
    support: str
    auto_mode: bool
    public_ranges: tuple[str, ...]
    admins: tuple[str, ...]
    addons: Mapping[str, str]
    system: EksSystemGroupPlan


@dataclass(frozen=True, kw_only=True)
class EksUpgradePlan:
    """How many nodes of a group may be missing while it is upgraded: a number, or a part in percent."""

    unavailable: int | None
    percent: int | None
    strategy: str | None


@dataclass(frozen=True, kw_only=True)
class EksGroupPlan:
    """A node group. `key`: its name in the stack file, `name`: in AWS.

    `version`: the minor, None where the image or its release says it. `image_id`: of an image of one's own.
    `turns_plugin_off`: whether the nodes are told to leave out the device plugin of their image.
    `cards`: the kind of each network card, None for a usual one; no `cards` where AWS chooses.
    `security_group`: for EFA, instead of one that the stack makes.
    """

    key: str
    name: str
    instance_type: str
    version: str | None
    release: str | None
    ami_type: str
    image_id: str | None
    turns_plugin_off: bool
    zones: tuple[str, ...]
    least: int
    most: int
    capacity: str
    reservation: str | None
    placed_together: bool
    cards: tuple[str | None, ...] | None
    security_group: str | None
    disk_device: str
    disk_gib: int
    repair: bool
    upgrade: EksUpgradePlan
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class EksClusterPlan:
    """A cluster as AWS is asked for it. `name`: in AWS, of one that the stack makes.

    `adopts`: the name of one that was there. `creates`: None then.

    `kubernetes`: the minor of the control plane and of all node groups. `subnets`: those that are there, by
    zone. `node_role`: None where the stack makes one.
    """

    name: str
    region: str
    account: str | None
    kubernetes: str
    adopts: TextOrOutput | None
    creates: EksCreation | None
    subnets: Mapping[str, TextOrOutput]
    node_role: TextOrOutput | None
    groups: tuple[EksGroupPlan, ...]
