"""What Alibaba Cloud answers to `aliyun`, in the names of its APIs."""

from __future__ import annotations

from pydantic import Field, RootModel

from dra_fleet.clouds.answers import Answered, Login, Quota


class RamCaller(Login):
    """The answer of `aliyun sts GetCallerIdentity`."""

    account: str = Field(alias="AccountId")
    arn: str = Field(alias="Arn")
    kind: str = Field(alias="IdentityType")

    @property
    def name(self) -> str:
        """The user, or the role of a session: acs:ram::1:user/NAME, acs:ram::1:assumed-role/NAME/SESSION."""
        return self.arn.split("/")[1] if "/" in self.arn else ""


class _Value(Answered):
    value: str = Field(alias="Value")


class _Values(Answered):
    items: tuple[_Value, ...] = Field(default=(), alias="ValueItem")


class _Attribute(Answered):
    name: str = Field(alias="AttributeName")
    values: _Values = Field(alias="AttributeValues")


class _Attributes(Answered):
    items: tuple[_Attribute, ...] = Field(default=(), alias="AccountAttributeItem")


class AccountAttributes(Answered):
    """The answer of `aliyun ecs DescribeAccountAttributes`."""

    attributes: _Attributes = Field(alias="AccountAttributeItems")

    def quota(self, kind: str) -> Quota | None:
        """The vCPUs that running machines may have; None where it is not told.

        Args:
            kind: "postpaid" or "spot".
        """
        told = {item.name: item.values.items[0].value for item in self.attributes.items if item.values.items}
        limit, used = (told.get(f"{which}-{kind}-instance-vcpu-count") for which in ("max", "used"))
        return None if limit is None else Quota(limit=int(limit), used=None if used is None else int(used))


class _Supported(Answered):
    name: str = Field(alias="Value")
    status: str = Field(alias="Status")


class _SupportedList(Answered):
    items: tuple[_Supported, ...] = Field(default=(), alias="SupportedResource")


class _Available(Answered):
    supported: _SupportedList = Field(default=_SupportedList(), alias="SupportedResources")


class _AvailableList(Answered):
    items: tuple[_Available, ...] = Field(default=(), alias="AvailableResource")


class _Zone(Answered):
    zone: str = Field(alias="ZoneId")
    resources: _AvailableList = Field(default=_AvailableList(), alias="AvailableResources")


class _Zones(Answered):
    items: tuple[_Zone, ...] = Field(default=(), alias="AvailableZone")


class AvailableResources(Answered):
    """The answer of `aliyun ecs DescribeAvailableResource`."""

    zones: _Zones = Field(default=_Zones(), alias="AvailableZones")

    def zones_with(self, machine: str) -> list[str]:
        """The zones that offer a machine type, whether or not they are sold out now."""
        return [
            zone.zone
            for zone in self.zones.items
            for resource in zone.resources.items
            for item in resource.supported.items
            if item.name == machine
        ]

    def sold_out(self, machine: str) -> list[str]:
        """The zones that offer a machine type and have none left."""
        return [
            zone.zone
            for zone in self.zones.items
            for resource in zone.resources.items
            for item in resource.supported.items
            if item.name == machine and item.status == "SoldOut"
        ]


class _Allocated(Answered):
    machine: str = Field(alias="InstanceType")
    zone: str = Field(alias="zoneId")
    total: int = Field(alias="TotalAmount")


class _AllocatedList(Answered):
    items: tuple[_Allocated, ...] = Field(default=(), alias="AllocatedResource")


class _Pool(Answered):
    allocated: _AllocatedList = Field(default=_AllocatedList(), alias="AllocatedResources")
    status: str = Field(alias="Status")


class _Assurances(Answered):
    items: tuple[_Pool, ...] = Field(default=(), alias="ElasticityAssuranceItem")


class _Reservations(Answered):
    items: tuple[_Pool, ...] = Field(default=(), alias="CapacityReservationItem")


class PrivatePools(Answered):
    """The answer of `aliyun ecs DescribeElasticityAssurances` or `DescribeCapacityReservations`."""

    assurances: _Assurances = Field(default=_Assurances(), alias="ElasticityAssuranceSet")
    reservations: _Reservations = Field(default=_Reservations(), alias="CapacityReservationSet")

    def kept(self, machine: str, zones: tuple[str, ...]) -> int:
        """How many machines of a type they hold in some zones, now or from a time that is agreed."""
        return sum(
            item.total
            for pool in (*self.assurances.items, *self.reservations.items)
            if pool.status in {"Active", "Prepared"}
            for item in pool.allocated.items
            if item.machine == machine and item.zone in zones
        )


class _Group(Answered):
    name: str = Field(alias="GroupName")


class _GroupList(Answered):
    items: tuple[_Group, ...] = Field(default=(), alias="Group")


class Groups(Answered):
    """The answer of `aliyun ram ListGroupsForUser`."""

    groups: _GroupList = Field(alias="Groups")


class AttachedPolicy(Answered):
    """A policy of a user, group or role."""

    name: str = Field(alias="PolicyName")
    type: str = Field(alias="PolicyType")


class _PolicyList(Answered):
    items: tuple[AttachedPolicy, ...] = Field(default=(), alias="Policy")


class AttachedPolicies(Answered):
    """The answer of `aliyun ram ListPoliciesForUser`, `ListPoliciesForGroup` or `ListPoliciesForRole`."""

    policies: _PolicyList = Field(alias="Policies")


class _PolicyVersion(Answered):
    document: str = Field(alias="PolicyDocument")


class RamPolicy(Answered):
    """The answer of `aliyun ram GetPolicy`."""

    version: _PolicyVersion = Field(alias="DefaultPolicyVersion")


class _AckVersion(Answered):
    version: str


class AckVersions(RootModel[tuple[_AckVersion, ...]]):
    """The answer of `aliyun cs DescribeKubernetesVersionMetadata`."""

    def offered(self) -> list[str]:
        """The versions."""
        return [item.version for item in self.root]
