"""What Azure is asked for: a cluster and its agent pools, as frozen values with final names.

Source: https://learn.microsoft.com/en-us/rest/api/aks/ (2025-09-01).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.settings.outputs import TextOrOutput


@dataclass(frozen=True, kw_only=True)
class AksScale:
    """How many nodes: `count` at the beginning, later within `bounds`, None where the number is fixed."""

    count: int
    bounds: tuple[int, int] | None


@dataclass(frozen=True, kw_only=True)
class AksSystemPoolPlan:
    """The pool of the cluster's own pods."""

    vm_size: str
    zones: tuple[str, ...]
    scale: AksScale


@dataclass(frozen=True, kw_only=True)
class AksWindowPlan:
    """When automatic upgrades of one kind run, every week in UTC. `name`: AKS's of that kind."""

    name: str
    day: str
    start: str
    hours: int


@dataclass(frozen=True, kw_only=True)
class AksCreation:
    """A cluster that the stack creates."""

    dns_prefix: str
    identity: str | None
    sku: str
    long_term_support: bool
    upgrade_channel: str
    node_image_channel: str
    windows: tuple[AksWindowPlan, ...]
    admin_groups: tuple[str, ...]
    authorized_ranges: tuple[str, ...]
    private: bool
    system: AksSystemPoolPlan


@dataclass(frozen=True, kw_only=True)
class AksUpgradePlan:
    """How a pool's nodes are upgraded: numbers or parts of the pool, and minutes."""

    surge: str
    unavailable: str
    drain_timeout: int


@dataclass(frozen=True, kw_only=True)
class AksPoolPlan:
    """An agent pool. `key`: its name in the stack file, `name`: in Azure.

    `gpu_driver`: whether AKS installs it, None without GPUs. `labels` and `taints`: those that AKS does not
    put there by itself.
    """

    key: str
    name: str
    type: str
    vm_size: str
    os_type: str
    os_sku: str
    zones: tuple[str, ...]
    scale: AksScale
    spot: bool
    gpu_driver: bool | None
    gpu_instance_profile: str | None
    capacity_reservation_group: str | None
    upgrade: AksUpgradePlan
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class AksClusterPlan:
    """A cluster as Azure is asked for it. `name`: in Azure, of one that the stack makes.

    `adopts`: the name of one that was there. `creates`: None then.

    `kubernetes`: the minor of the control plane and of all pools. `login`: how
    kubelogin gets its token. `priorities`: the names in Azure of the pools of each priority.
    """

    name: str
    resource_group: TextOrOutput
    region: str
    kubernetes: str
    subscription: str | None
    login: str
    adopts: TextOrOutput | None
    creates: AksCreation | None
    pools: tuple[AksPoolPlan, ...]
    priorities: Mapping[int, tuple[str, ...]]
