"""Simulated resource types without a life of their own, and those of networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from dra_fleet.clouds.eks.simulation import shapes
from dra_fleet.clouds.eks.simulation.account import ACCOUNT, arn, made_id, refuse
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import WrongInput

if TYPE_CHECKING:
    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties


@dataclass(frozen=True, kw_only=True)
class Model:
    """What a type's inputs are held to.

    Args:
        service: botocore's name of the service.
        operation: that creates the resource.
        below: the member of the operation that holds the inputs, if not the operation itself.
        names: what the plugin names differently, by dotted path.
        beside: inputs that are no part of the operation: tags, and what the plugin asks for in other calls.
    """

    service: str
    operation: str
    below: str = ""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    beside: frozenset[str] = frozenset()

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit."""
        skipped = self.beside | {"region", "tags", "tagsAll", "__defaults"}
        rest = {key: value for key, value in inputs.items() if key not in skipped}
        shape = shapes.operation_shape(self.service, self.operation, self.below)
        return shapes.faults(shape, rest, self.names)


class EksResourceType(typed_cloud.ResourceType, Protocol):
    """One type; `name_key` is the input with its name, which is made up where none is given."""

    @property
    def name_key(self) -> str | None: ...  # noqa: D102 - see above

    def identifier(self, urn: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        ...


Outputs = Callable[["Record"], "Properties"]
Identifier = Callable[["Properties"], str]


@dataclass(frozen=True, kw_only=True)
class PlainType:
    """See `dra_fleet.clouds.eks.simulation.resource_type.ResourceType`.

    Args:
        account: where records are.
        model: what the inputs are held to.
        prefix: of made ids, such as "vpc"; empty where `named` says the id.
        named: the id that the inputs lead to.
        outputs: beside the inputs.
        holds: types and their inputs that name this resource: while there is one, it cannot be deleted.
        needs: inputs and the types of the resources they name, which must be there.
        not_found: AWS's code for one of those that is not.
    """

    account: EksAccount
    model: Model
    outputs: Outputs
    prefix: str = ""
    named: Identifier | None = None
    name_key: str | None = None
    replacing: frozenset[str] = frozenset()
    required: tuple[str, ...] = ()
    holds: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    not_found: str = "ResourceNotFoundException"

    def faults(self, inputs: Properties) -> list[WrongInput]:
        """What does not fit the model."""
        return self.model.faults(inputs)

    def identifier(self, urn: str, inputs: Properties) -> str:
        """The id the inputs lead to."""
        return self.named(inputs) if self.named is not None else made_id(self.prefix, urn)

    async def create(self, record: Record) -> None:
        """It is there at once."""
        for key, kind in self.needs.items():
            wanted = str(record["inputs"].get(key))
            if self.account.find(kind, wanted) is None:
                raise refuse(self.not_found, f"The {key} '{wanted}' does not exist; create it first")
        self._settle(record)

    async def update(self, record: Record, news: Properties) -> None:
        """Take the new inputs."""
        record["inputs"] = news
        self._settle(record)

    async def delete(self, record: Record) -> None:
        """Let it go, unless something is in it."""
        for kind, key in self.holds.items():
            inside = [one["id"] for one in self.account.all(kind) if one["inputs"].get(key) == record["id"]]
            if inside:
                raise refuse(
                    "DependencyViolation",
                    f"The resource '{record['id']}' has dependent objects ({', '.join(inside)}) and cannot "
                    "be deleted; delete them first",
                )

    def _settle(self, record: Record) -> None:
        inputs = record["inputs"]
        record["state"] = {**inputs, "tagsAll": inputs.get("tags") or {}, **self.outputs(record)}
        self.account.put(record)


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


def zone_of(account: EksAccount, subnet: str, region: str) -> str:
    """The zone a subnet is in; one that no stack made is in the hardware file, or in the first zone."""
    found = account.find(SUBNET, subnet)
    if found is not None:
        return str(found["inputs"].get("availabilityZone") or f"{region}a")
    return account.limits.subnets.get(subnet, f"{region}a")
