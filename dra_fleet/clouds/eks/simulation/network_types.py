"""Simulated resource types without a life of their own, and those of networks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from dra_fleet.clouds.eks.simulation.account import ACCOUNT, arn, made_id, refuse
from dra_fleet.rehearsal.clouds import typed_cloud
from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput, is_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.rehearsal.clouds.account import Record


# Holds inputs to botocore's service models: names, types, ranges, patterns, and enums.
#
# botocore's own validator leaves enums and patterns unchecked (https://github.com/boto/botocore), so the
# models are walked here. The plugin's SDK writes members in camelCase and nests single blocks as objects;
# what it names differently is listed by the resource types.

Names = Mapping[str, str]
"""Dotted path in the plugin's words -> member in the API's."""

_WORDS: Final = {
    "string": "a text", "integer": "a whole number", "long": "a whole number", "boolean": "true or false",
    "list": "a list", "structure": "an object", "map": "an object", "timestamp": "a time", "blob": "a text",
    "double": "a number", "float": "a number",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A shape of a service model, such as CreateNodegroupRequest."""

    service: str
    name: str

    @property
    def facts(self) -> dict[str, Any]:
        """What the model says of it: type, members, enum, pattern, bounds."""
        return _model(self.service)["shapes"][self.name]

    @property
    def kind(self) -> str:
        """Such as "structure" or "string"."""
        return str(self.facts["type"])

    def members(self) -> dict[str, Shape]:
        """The members of a structure by name."""
        return {name: self._other(told) for name, told in self.facts["members"].items()}

    def part(self, name: str) -> Shape:
        """The `member` of a list, or the `key` or `value` of a map."""
        return self._other(self.facts[name])

    def _other(self, told: dict[str, Any]) -> Shape:
        return Shape(service=self.service, name=str(told["shape"]))


@functools.cache
def _model(service: str) -> dict[str, Any]:
    # Loaded when the first resource is checked.
    from botocore import loaders  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    loaded: Any = loaders.Loader().load_service_model(service, "service-2")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return cast("dict[str, Any]", loaded)


def operation_shape(service: str, operation: str, below: str = "") -> Shape:
    """The shape of what an operation takes, or of one of its members."""
    name = str(_model(service)["operations"][operation]["input"]["shape"])
    shape = Shape(service=service, name=name)
    return shape.members()[below] if below else shape


def faults(shape: Shape, inputs: Properties, names: Names, path: str = "") -> list[WrongInput]:
    """What in the inputs does not fit a structure.

    Args:
        shape: what they are held to.
        inputs: as the plugin's SDK names them.
        names: what the SDK names differently.
        path: where the inputs stand.
    """
    return list(_structure(shape, inputs, names, path))


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
        shape = operation_shape(self.service, self.operation, self.below)
        return faults(shape, rest, self.names)


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
        shape = operation_shape("ec2", "CreateRoute")
        names = {"cidrBlock": "DestinationCidrBlock", "ipv6CidrBlock": "DestinationIpv6CidrBlock"}
        for index, route in enumerate(inputs.get("routes") or []):
            place = f"routes[{index}]"
            below = {f"routes.{key}": value for key, value in names.items()}
            told = faults(shape, route, below, place)
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


def _structure(shape: Shape, value: Properties, names: Names, path: str) -> Iterator[WrongInput]:
    members = shape.members()
    found: set[str] = set()
    for key, item in value.items():
        place = f"{path}.{key}" if path else key
        member = _member(members, names.get(_plain(place), key))
        if member is None:
            allowed = ", ".join(sorted(members))
            yield WrongInput(path=place, reason=f"{key!r} is no member of {shape.name}; it has: {allowed}")
            continue
        if item is not None:
            found.add(member)
        yield from _value(members[member], item, names, place)
    for member in sorted(set(shape.facts.get("required", [])) - found):
        # A token that makes a request idempotent is the client's own affair.
        if "token" not in member.lower():
            yield WrongInput(path=path, reason=f"{shape.name} needs {member}")


def _member(members: Mapping[str, Any], wanted: str) -> str | None:
    folded = {name.lower(): name for name in members}
    return folded.get(wanted.lower()) or folded.get(wanted.lower().removesuffix("s"))


def _plain(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path)


def _value(shape: Shape, value: object, names: Names, path: str) -> Iterator[WrongInput]:
    kind = shape.kind
    if value is None or is_unknown(value):
        return
    if kind == "structure" and isinstance(value, dict):
        yield from _structure(shape, cast("Properties", value), names, path)
    elif kind == "list" and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _value(shape.part("member"), item, names, f"{path}[{index}]")
        yield from _range(shape, len(cast("list[object]", value)), path, "items")
    elif kind == "map" and isinstance(value, dict):
        for key, item in cast("Properties", value).items():
            yield from _value(shape.part("key"), key, names, f"{path}.{key}")
            yield from _value(shape.part("value"), item, names, f"{path}.{key}")
    elif not _is_a(kind, value):
        yield WrongInput(path=path, reason=f"{value!r} must be {_WORDS.get(kind, kind)}")
    elif kind == "string":
        yield from _text(shape, str(value), path)
    elif kind in ("integer", "long"):
        yield from _range(shape, int(cast("int", value)), path, "")


def _is_a(kind: str, value: object) -> bool:
    match kind:
        case "boolean":
            return isinstance(value, bool) or value in ("true", "false")  # the plugin has some as texts
        case "integer" | "long":
            return (
                isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
            )
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string" | "blob" | "timestamp":
            return isinstance(value, str)
        case _:
            return False


def _text(shape: Shape, value: str, path: str) -> Iterator[WrongInput]:
    enum: list[str] = shape.facts.get("enum", [])
    if enum and value not in enum:
        yield WrongInput(path=path, reason=f"{value!r} is none of {', '.join(enum)}")
        return
    pattern = shape.facts.get("pattern")
    if pattern and _fits(pattern, value) is False:
        yield WrongInput(path=path, reason=f"{value!r} does not match {pattern}")
    yield from _range(shape, len(value), path, "characters")


def _fits(pattern: str, value: str) -> bool | None:
    """Whether a value matches; None where the pattern is in a dialect of Java that Python does not read."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return None


def _range(shape: Shape, number: int, path: str, unit: str) -> Iterator[WrongInput]:
    least, most = shape.facts.get("min"), shape.facts.get("max")
    if (least is not None and number < least) or (most is not None and number > most):
        bounds = f"{'' if least is None else least} to {'' if most is None else most}".strip()
        yield WrongInput(path=path, reason=f"{number} {unit} must be {bounds}".replace("  ", " "))
