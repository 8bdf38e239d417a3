"""A small VPC: in each zone a private subnet for nodes and a public one with a NAT gateway.

Nodes with several network cards get no public address by themselves, so they live in private subnets.
Source: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_aws import ec2

from ...core.naming import logical

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pulumi

    from dra_fleet.clouds.eks.cluster_plan import EksNetworkPlan

_PRIVATE_BITS = 3
"""A /16 is cut into eight /19: one for the nodes of each zone, and the last for all public subnets."""
_PUBLIC_PREFIX = 24


@dataclass(frozen=True, kw_only=True)
class Network:
    """Where nodes can be. `ready`: what must be there before one of them can reach anything."""

    subnets: Mapping[str, pulumi.Input[str]]
    ready: list[pulumi.Resource]


def small_network(name: str, wanted: EksNetworkPlan, opts: pulumi.ResourceOptions) -> Network:
    """Declare the VPC and all that is in it.

    Args:
        name: the cluster's name, the stem of all names.
        wanted: address range and zones.
        opts: parent and provider.
    """
    whole = ipaddress.IPv4Network(wanted.cidr)
    *private_ranges, rest = whole.subnets(prefixlen_diff=_PRIVATE_BITS)
    public_ranges = rest.subnets(new_prefix=_PUBLIC_PREFIX)
    vpc = ec2.Vpc(
        logical(name, "vpc"),
        cidr_block=wanted.cidr,
        enable_dns_hostnames=True,
        enable_dns_support=True,
        tags={"Name": name},
        opts=opts,
    )
    gateway = ec2.InternetGateway(logical(name, "gateway"), vpc_id=vpc.id, tags={"Name": name}, opts=opts)
    public = _routes(
        logical(name, "public"),
        vpc,
        ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", gateway_id=gateway.id),
        opts,
    )
    subnets: dict[str, pulumi.Input[str]] = {}
    ready: list[pulumi.Resource] = []
    zoned = zip(sorted(wanted.zones), private_ranges, public_ranges, strict=False)
    for zone, private_range, public_range in zoned:
        part = logical(name, zone)
        where = (vpc, zone, opts)
        outside = _subnet(logical(part, "public"), where, public_range, role="elb")
        inside = _subnet(logical(part, "private"), where, private_range, role="internal-elb")
        address = ec2.Eip(logical(part, "nat"), domain="vpc", tags={"Name": part}, opts=opts)
        nat = ec2.NatGateway(
            logical(part, "nat"),
            subnet_id=outside.id,
            allocation_id=address.allocation_id,
            tags={"Name": part},
            opts=opts,
        )
        private = _routes(
            logical(part, "private"),
            vpc,
            ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", nat_gateway_id=nat.id),
            opts,
        )
        for side, subnet, table in (("public", outside, public), ("private", inside, private)):
            ready.append(
                ec2.RouteTableAssociation(
                    logical(part, side), subnet_id=subnet.id, route_table_id=table.id, opts=opts
                )
            )
        subnets[zone] = inside.id
    return Network(subnets=subnets, ready=ready)


def _routes(
    name: str, vpc: ec2.Vpc, route: ec2.RouteTableRouteArgs, opts: pulumi.ResourceOptions
) -> ec2.RouteTable:
    return ec2.RouteTable(name, vpc_id=vpc.id, routes=[route], tags={"Name": name}, opts=opts)


def _subnet(
    name: str,
    where: tuple[ec2.Vpc, str, pulumi.ResourceOptions],
    cidr: ipaddress.IPv4Network,
    *,
    role: str,
) -> ec2.Subnet:
    vpc, zone, opts = where
    return ec2.Subnet(
        name,
        vpc_id=vpc.id,
        availability_zone=zone,
        cidr_block=str(cidr),
        tags={"Name": name, f"kubernetes.io/role/{role}": "1"},
        opts=opts,
    )
