"""What Alibaba Cloud is asked for: a cluster and its node pools, as frozen values with final names.

Source: https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/developer-reference/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.settings.outputs import TextOrOutput

SYSTEM_POOL = "system"


@dataclass(frozen=True, kw_only=True)
class AckNetworkPlan:
    """A VPC of the stack's own: its range, and the zones that have vSwitches."""

    cidr: str
    zones: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AckPoolPlan:
    """A node pool. `key`: its name in the stack file, `name`: in Alibaba Cloud.

    `kind`: what ACK's autoscaler calls its machines. `reservation`: the private pool it takes machines from.
    """

    key: str
    name: str
    instance_type: str
    image: str
    zones: tuple[str, ...]
    least: int
    most: int
    kind: str
    spot: bool
    reservation: str | None
    disk_gib: int
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class AckCreation:
    """A cluster that the stack creates. `network`: None where vSwitches are there."""

    network: AckNetworkPlan | None
    edition: str
    public: bool
    system: AckPoolPlan


@dataclass(frozen=True, kw_only=True)
class AckClusterPlan:
    """A cluster as Alibaba Cloud is asked for it. `name`: in ACK, of one that the stack makes.

    `version`: the whole version, such as 1.36.2-aliyun.1. `adopts`: the id of one that was
    there. `creates`: None then.
    `vswitches`: those that are there, by zone.
    """

    name: str
    region: str
    account: str | None
    version: str
    adopts: TextOrOutput | None
    creates: AckCreation | None
    vswitches: Mapping[str, TextOrOutput]
    pools: tuple[AckPoolPlan, ...]
