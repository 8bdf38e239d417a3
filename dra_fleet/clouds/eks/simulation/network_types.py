"""EC2's networks: VPCs, subnets, gateways, routes, security groups. Nothing travels through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clouds.eks.simulation import shapes
from dra_fleet.clouds.eks.simulation.account import ACCOUNT, arn, made_id
from dra_fleet.clouds.eks.simulation.plain_type import PlainType
from dra_fleet.clouds.eks.simulation.resource_type import Model
from dra_fleet.rehearsal.clouds.cloud import WrongInput

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.clouds.eks.simulation.resource_type import EksResourceType
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.values import Properties

VPC: Final = "aws:ec2/vpc:Vpc"
SUBNET: Final = "aws:ec2/subnet:Subnet"
GATEWAY: Final = "aws:ec2/internetGateway:InternetGateway"
ADDRESS: Final = "aws:ec2/eip:Eip"
NAT: Final = "aws:ec2/natGateway:NatGateway"
TABLE: Final = "aws:ec2/routeTable:RouteTable"
ASSOCIATION: Final = "aws:ec2/routeTableAssociation:RouteTableAssociation"
SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
_RULE: Final = frozenset(
    {
        "cidrBlocks", "description", "fromPort", "ipv6CidrBlocks", "prefixListIds", "protocol",
        "securityGroups", "self", "toPort",
    }
)  # fmt: skip


class RouteTables(PlainType):
    """Route tables, whose routes are made by calls of their own."""

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit, of the table and of each route."""
        found = super().faults(inputs)
        shape = shapes.operation_shape("ec2", "CreateRoute")
        names = {"cidrBlock": "DestinationCidrBlock", "ipv6CidrBlock": "DestinationIpv6CidrBlock"}
        for index, route in enumerate(inputs.get("routes") or []):
            place = f"routes[{index}]"
            below = {f"routes.{key}": value for key, value in names.items()}
            told = shapes.faults(shape, route, below, place)
            found += [failure for failure in told if not failure.reason.endswith("needs RouteTableId")]
        return found


class SecurityGroups(PlainType):
    """Security groups with the rules written inside them."""

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit, of the group and of each rule."""
        found = super().faults(inputs)
        for side in ("ingress", "egress"):
            rules: list[dict[str, Any]] = inputs.get(side) or []
            for index, rule in enumerate(rules):
                place = f"{side}[{index}]"
                found += [
                    WrongInput(path=f"{place}.{key}", reason=f"{key!r} is none of {', '.join(sorted(_RULE))}")
                    for key in rule
                    if key not in _RULE
                ]
                found += [
                    WrongInput(path=place, reason=f"a rule needs {key}")
                    for key in ("fromPort", "protocol", "toPort")
                    if rule.get(key) is None
                ]
        return found


def network_types(account: EksAccount) -> dict[str, EksResourceType]:
    """All of them, by token."""
    return {
        VPC: PlainType(
            account=account,
            model=Model(
                service="ec2",
                operation="CreateVpc",
                beside=frozenset(
                    {"enableDnsHostnames", "enableDnsSupport", "enableNetworkAddressUsageMetrics"}
                ),
            ),
            prefix="vpc",
            outputs=_vpc,
            replacing=frozenset({"cidrBlock"}),
            holds={SUBNET: "vpcId", SECURITY_GROUP: "vpcId", TABLE: "vpcId"},
        ),
        SUBNET: PlainType(
            account=account,
            model=Model(service="ec2", operation="CreateSubnet", beside=frozenset({"mapPublicIpOnLaunch"})),
            prefix="subnet",
            outputs=lambda record: {"arn": _arn(record, "subnet"), "ownerId": ACCOUNT},
            replacing=frozenset({"availabilityZone", "cidrBlock", "vpcId"}),
            needs={"vpcId": VPC},
            not_found="InvalidVpcID.NotFound",
        ),
        GATEWAY: PlainType(
            account=account,
            model=Model(service="ec2", operation="CreateInternetGateway", beside=frozenset({"vpcId"})),
            prefix="igw",
            outputs=lambda record: {"arn": _arn(record, "internet-gateway"), "ownerId": ACCOUNT},
            needs={"vpcId": VPC},
            not_found="InvalidVpcID.NotFound",
        ),
        ADDRESS: PlainType(
            account=account,
            model=Model(service="ec2", operation="AllocateAddress"),
            prefix="eipalloc",
            outputs=lambda record: {
                "allocationId": record["id"],
                "arn": _arn(record, "elastic-ip"),
                "publicIp": "198.51.100.10",
            },
            replacing=frozenset({"domain"}),
        ),
        NAT: PlainType(
            account=account,
            model=Model(service="ec2", operation="CreateNatGateway"),
            prefix="nat",
            outputs=lambda _: {"connectivityType": "public", "publicIp": "198.51.100.10"},
            replacing=frozenset({"allocationId", "connectivityType", "subnetId"}),
            needs={"subnetId": SUBNET, "allocationId": ADDRESS},
            not_found="InvalidSubnet",
        ),
        TABLE: RouteTables(
            account=account,
            model=Model(service="ec2", operation="CreateRouteTable", beside=frozenset({"routes"})),
            prefix="rtb",
            outputs=lambda record: {"arn": _arn(record, "route-table"), "ownerId": ACCOUNT},
            replacing=frozenset({"vpcId"}),
            holds={ASSOCIATION: "routeTableId"},
            needs={"vpcId": VPC},
            not_found="InvalidVpcID.NotFound",
        ),
        ASSOCIATION: PlainType(
            account=account,
            model=Model(service="ec2", operation="AssociateRouteTable"),
            prefix="rtbassoc",
            outputs=lambda _: {},
            replacing=frozenset({"subnetId", "gatewayId"}),
            needs={"subnetId": SUBNET, "routeTableId": TABLE},
            not_found="InvalidSubnetID.NotFound",
        ),
        SECURITY_GROUP: SecurityGroups(
            account=account,
            model=Model(
                service="ec2",
                operation="CreateSecurityGroup",
                names={"name": "GroupName"},
                beside=frozenset({"egress", "ingress", "revokeRulesOnDelete"}),
            ),
            prefix="sg",
            outputs=lambda record: {"arn": _arn(record, "security-group"), "ownerId": ACCOUNT},
            name_key="name",
            replacing=frozenset({"description", "name", "vpcId"}),
        ),
    }


def _vpc(record: Record) -> Properties:
    return {
        "arn": _arn(record, "vpc"),
        "defaultSecurityGroupId": made_id("sg", record["urn"]),
        "mainRouteTableId": made_id("rtb", record["urn"]),
        "ownerId": ACCOUNT,
    }


def _arn(record: Record, kind: str) -> str:
    return arn("ec2", record["region"], f"{kind}/{record['id']}")
