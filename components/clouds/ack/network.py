"""A small VPC: in each zone a vSwitch for nodes and pods; ACK adds the NAT gateway.

Source: https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/plan-cidr-blocks-for-an-ack-cluster-1
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from pulumi_alicloud import vpc

from ...core.naming import logical

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pulumi

    from dra_fleet.clouds.ack.cluster_plan import AckNetworkPlan

_ZONE_BITS = 3
"""A /16 is cut into eight /19, one for the nodes and pods of each zone."""


def small_network(
    name: str, wanted: AckNetworkPlan, opts: pulumi.ResourceOptions
) -> Mapping[str, pulumi.Input[str]]:
    """Declare the VPC and its vSwitches, whose ids by zone are returned.

    Args:
        name: the cluster's name, the stem of all names.
        wanted: address range and zones.
        opts: parent and provider.
    """
    ranges = ipaddress.IPv4Network(wanted.cidr).subnets(prefixlen_diff=_ZONE_BITS)
    network = vpc.Network(logical(name, "vpc"), vpc_name=name, cidr_block=wanted.cidr, opts=opts)
    zoned = zip(sorted(wanted.zones), ranges, strict=False)
    return {
        zone: vpc.Switch(
            logical(name, zone),
            vswitch_name=logical(name, zone),
            vpc_id=network.id,
            zone_id=zone,
            cidr_block=str(cidr),
            opts=opts,
        ).id
        for zone, cidr in zoned
    }
