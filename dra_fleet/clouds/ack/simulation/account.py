"""The simulated account: which resources there are, its limits, and the clusters' control planes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clouds.ack.facts import ack_facts
from dra_fleet.clouds.ack.simulation.limits import AckLimits
from dra_fleet.clouds.ack.simulation.versions import minor_of
from dra_fleet.rehearsal.clouds.account import CloudAccount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.values import Properties

ACCOUNT: Final = "0000000000000000"
DEFAULT_REGION: Final = "cn-beijing"
"""https://www.alibabacloud.com/help/en/ecs/product-overview/regions-and-zones; the provider's own default."""
_USER: Final = "acs:ram::0000000000000000:user/rehearsal"
CLUSTER: Final = "alicloud:cs/managedKubernetes:ManagedKubernetes"
POOL: Final = "alicloud:cs/nodePool:NodePool"
ADDON: Final = "alicloud:cs/kubernetesAddon:KubernetesAddon"
NETWORK: Final = "alicloud:vpc/network:Network"
VSWITCH: Final = "alicloud:vpc/switch:Switch"


class AckAccount(CloudAccount[AckLimits]):
    """Records by type and id, each with its `region`. Its token is such as `ack-ram-tool` prints.

    https://github.com/AliyunContainerService/ack-ram-tool, `pkg/ramauthenticator`.
    """

    cloud = "ack"
    title = "Alibaba Cloud"
    token_prefix = "k8s-ack-v2."  # noqa: S105 - how such tokens begin, not one
    model = AckLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return f"{kind}|{identifier}"

    @property
    @override
    def releases(self) -> Mapping[str, str]:
        return {minor_of(release): release for release in ack_facts().versions}

    @override
    def token_lines(self) -> str:
        return f'{self.token()},{_USER},{ACCOUNT},"system:masters"\n'

    def zone_of(self, vswitch: str, region: str) -> str:
        """The zone a vSwitch is in; one that no stack made is in the hardware file, or in the first zone."""
        found = self.find(VSWITCH, vswitch)
        if found is not None:
            return str(found["inputs"].get("zoneId") or _first_zone(region))
        return self.limits.vswitches.get(vswitch, _first_zone(region))

    def network_of(self, vswitch: str) -> str | None:
        """The VPC a vSwitch is in; None where no stack made it."""
        found = self.find(VSWITCH, vswitch)
        return str(found["inputs"].get("vpcId")) if found is not None else None


def region_of(config: Properties) -> str:
    """The region a provider works in."""
    return str(config.get("region") or DEFAULT_REGION)


def _first_zone(region: str) -> str:
    return f"{region}a" if region[-1].isdigit() else f"{region}-a"


def made_id(prefix: str, *seeds: object, length: int = 17) -> str:
    """An id such as vpc-bp1a0b1c2d3e4f5a6b7, always the same for the same seeds."""
    digest = hashlib.sha256(" ".join(map(str, seeds)).encode()).hexdigest()
    return f"{prefix}{digest[:length]}"
