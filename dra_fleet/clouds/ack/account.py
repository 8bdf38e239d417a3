"""The account of ACK clusters: access to clusters, and questions before `pulumi up` with answers."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, RootModel

from dra_fleet.clouds.account import (
    ADOPTED,
    Answered,
    CloudQuestion,
    Exposed,
    Login,
    Lookup,
    Quota,
    account_question,
    address,
    administrators,
    check_offer,
    check_permissions,
    check_quota,
    check_reservation,
    checked_together,
    matches,
    options,
    version_question,
)
from dra_fleet.clouds.ack.plan import zones_of
from dra_fleet.core.findings.errors import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from dra_fleet.clouds.ack.settings import AckClusterSettings, AckPoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, AckPoolSettings]]


def exposure(settings: AckClusterSettings) -> Sequence[Exposed]:
    """Return the exposure of a cluster."""
    access = settings.access
    if access is None:
        return [ADOPTED]
    login = "RAM by ack-ram-tool's short-lived tokens; no kubeconfig holds a secret"
    return [
        address((), is_private=not access.public),
        Exposed(subject="credentials", text=login),
        administrators((), "creates the cluster"),
    ]


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
        """Return the vCPU quota of running machines; None if the account does not report it.

        Args:
            kind: "postpaid" or "spot".
        """
        shown = {item.name: item.values.items[0].value for item in self.attributes.items if item.values.items}
        limit, used = (shown.get(f"{which}-{kind}-instance-vcpu-count") for which in ("max", "used"))
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
        """Return the zones that offer a machine type, sold out or not."""
        return [
            zone.zone
            for zone in self.zones.items
            for resource in zone.resources.items
            for item in resource.supported.items
            if item.name == machine
        ]

    def sold_out(self, machine: str) -> list[str]:
        """Return the zones that offer a machine type but have none left."""
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
        """Return the number of machines of a type that the pools reserve in `zones`, now or later."""
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
        """Return the offered versions."""
        return [item.version for item in self.root]


_ROLE: Final = "AssumedRoleUser"
_USER: Final = "RAMUser"
_FULL: Final = "AliyunCSFullAccess"
_NETWORK: Final = "AliyunVPCFullAccess"


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Patterns = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class _Statement(Answered):
    effect: Literal["Allow", "Deny"] = Field(alias="Effect")
    actions: _Patterns = Field(default=(), alias="Action")
    excepted: _Patterns = Field(default=(), alias="NotAction")
    resources: _Patterns = Field(default=(), alias="Resource")
    condition: object = Field(default=None, alias="Condition")

    def covers(self, action: str) -> bool:
        return not matches(action, self.excepted) if self.excepted else matches(action, self.actions)

    @property
    def is_whole(self) -> bool:
        return "*" in self.resources and not self.condition


class _Document(Answered):
    statements: tuple[_Statement, ...] = Field(alias="Statement")


def permission_questions(caller: RamCaller, requested: Sequence[str]) -> Sequence[CloudQuestion]:
    """Return the questions to RAM; none if the login is the account itself, which is allowed everything.

    Args:
        caller: the login.
        requested: the actions that the stack needs.
    """
    if caller.kind == _ROLE:
        of_role = _question("ListPoliciesForRole", AttachedPolicies, caller, "--RoleName", caller.name)
        return checked_together(
            [of_role], partial(_without_any, caller, requested), partial(_documents, caller, requested)
        )
    if caller.kind != _USER:
        return ()
    named = ("--UserName", caller.name)
    return checked_together(
        [
            _question("ListPoliciesForUser", AttachedPolicies, caller, *named),
            _question("ListGroupsForUser", Groups, caller, *named),
        ],
        lambda shown: () if shown[1].groups.items else _without_any(caller, requested, shown[:1]),
        lambda shown: _of_groups(caller, requested, *shown),
    )


def _of_groups(
    caller: RamCaller, requested: Sequence[str], own: AttachedPolicies, groups: Groups
) -> Sequence[CloudQuestion]:
    return checked_together(
        [
            _question("ListPoliciesForGroup", AttachedPolicies, caller, "--GroupName", group.name)
            for group in groups.groups.items
        ],
        lambda shown: _without_any(caller, requested, (own, *shown)),
        lambda shown: _documents(caller, requested, (own, *shown)),
    )


def _documents(
    caller: RamCaller, requested: Sequence[str], attached: tuple[AttachedPolicies, ...]
) -> Sequence[CloudQuestion]:
    policies = {(item.type, item.name) for shown in attached for item in shown.policies.items}
    return checked_together(
        [
            _question("GetPolicy", RamPolicy, caller, "--PolicyType", kind, "--PolicyName", name)
            for kind, name in sorted(policies)
        ],
        partial(_check, caller, requested),
    )


def _without_any(
    caller: RamCaller, requested: Sequence[str], attached: tuple[AttachedPolicies, ...]
) -> Iterator[PreflightFinding]:
    if not any(shown.policies.items for shown in attached):
        yield from _check(caller, requested, ())


def _check(
    caller: RamCaller, requested: Sequence[str], shown: tuple[RamPolicy, ...]
) -> Iterator[PreflightFinding]:
    statements = [
        statement
        for policy in shown
        for statement in _Document.model_validate_json(policy.version.document).statements
    ]
    missing: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for action in requested:
        covering = [statement for statement in statements if statement.covers(action)]
        denied = [statement for statement in covering if statement.effect == "Deny"]
        if not covering or any(statement.is_whole for statement in denied) or len(denied) == len(covering):
            missing[action] = _ask(caller, action)
        elif denied or not any(statement.is_whole for statement in covering):
            unknown[action] = "its policies name resources or conditions"
    yield from check_permissions(missing, unknown, f"account {caller.account}")


def _ask(caller: RamCaller, action: str) -> str:
    to = "Role" if caller.kind == _ROLE else "User"
    policy = _NETWORK if action.startswith("vpc:") else _FULL
    return f"aliyun ram AttachPolicyTo{to} --PolicyType System --PolicyName {policy} --{to}Name {caller.name}"


def _question(operation: str, answer: type[BaseModel], caller: RamCaller, *options: str) -> CloudQuestion:
    return CloudQuestion(
        subject="permissions",
        about=f"what {caller.arn} may do",
        command=("aliyun", "ram", operation, *options),
        answer=answer,
        check=lambda _: (),
    )


_ATTRIBUTES: Final = tuple(
    f"{which}-{kind}-instance-vcpu-count" for kind in ("postpaid", "spot") for which in ("max", "used")
)
_MARKETS: Final = {"postpaid": "pay-as-you-go instances", "spot": "spot instances"}


def lookup(kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]) -> Lookup | None:
    """Return the question for a cluster or node pool."""
    where = options(region=provider.get("region"))
    match kind, inputs:
        case "alicloud:cs/managedKubernetes:ManagedKubernetes", {"name": str(name)}:
            command = ("aliyun", "cs", "DescribeClustersV1", "--name", name, *where)

            def identifier(shown: Mapping[str, Any]) -> str:
                found = (item["cluster_id"] for item in shown["clusters"] if item["name"] == name)
                return str(next(found, ""))
        case "alicloud:cs/nodePool:NodePool", {"clusterId": str(cluster), "nodePoolName": str(name)}:
            command = ("aliyun", "cs", "DescribeClusterNodePools", "--ClusterId", cluster, *where)

            def identifier(shown: Mapping[str, Any]) -> str:
                pools = (item["nodepool_info"] for item in shown["nodepools"])
                found = (f"{cluster}:{item['nodepool_id']}" for item in pools if item["name"] == name)
                return str(next(found, ""))
        case _:
            return None
    return Lookup(command=command, absent=("errorclusternotfound",), identifier=identifier)


def questions(settings: AckClusterSettings, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """Return the questions for a cluster: first the login, then the account."""
    command = ("aliyun", "sts", "GetCallerIdentity", "--region", settings.region)
    then = partial(_of_account, cluster, settings)
    return [account_question("Alibaba Cloud", settings.account, command, RamCaller, then)]


def _of_account(
    cluster: ClusterPlan, settings: AckClusterSettings, caller: RamCaller
) -> Sequence[CloudQuestion]:
    region = settings.region
    pools = {pool.name: (pool, settings.pools[pool.name]) for pool in cluster.pools}
    requested = ["cs:CreateClusterNodePool"]
    if settings.create is not None:
        requested += ["cs:CreateCluster", *(["vpc:CreateVpc"] if settings.create.network else [])]
    asked = [
        CloudQuestion(
            subject="quota",
            about=f"the vCPU quotas in {region}",
            command=_ecs(
                region,
                "DescribeAccountAttributes",
                *(
                    word
                    for place, name in enumerate(_ATTRIBUTES, start=1)
                    for word in (f"--AttributeName.{place}", name)
                ),
            ),
            answer=AccountAttributes,
            check=partial(_quota, region=region, pools=pools),
        ),
        *_offers(settings, pools),
        *(
            _reserved(pool, own.reservation, settings)
            for pool, own in pools.values()
            if own.reservation is not None
        ),
        *permission_questions(caller, requested),
    ]
    if settings.create is not None:
        version = settings.version or cluster.kubernetes
        command = (
            "aliyun", "cs", "DescribeKubernetesVersionMetadata", "--Region", region,
            "--ClusterType", "ManagedKubernetes", "--Mode", "creatable",
        )  # fmt: skip
        asked.append(version_question(version, region, command, AckVersions, AckVersions.offered))
    return asked


def _ecs(region: str, operation: str, *options: str) -> tuple[str, ...]:
    return ("aliyun", "ecs", operation, "--RegionId", region, "--region", region, *options)


def _quota(shown: AccountAttributes, *, region: str, pools: Pools) -> Iterator[PreflightFinding]:
    requested: Counter[str] = Counter()
    for pool, own in pools.values():
        requested["spot" if own.spot else "postpaid"] += pool.machine.cpus * pool.max_nodes
    for kind, cpus in sorted(requested.items()):
        ask = (
            "aliyun quotas ListProductQuotas --ProductCode ecs --KeyWord vCPU reports the CODE; then aliyun "
            f"quotas CreateQuotaApplication --ProductCode ecs --QuotaActionCode CODE --DesireValue {cpus} "
            f"--Dimensions.1.Key regionId --Dimensions.1.Value {region} --Reason REASON"
        )
        yield check_quota(cpus, "vCPUs", _MARKETS[kind], region, quota=shown.quota(kind), ask=ask)


def _offers(settings: AckClusterSettings, pools: Pools) -> Iterator[CloudQuestion]:
    region = settings.region
    requested = {(pool.machine.cloud_type, own.spot) for pool, own in pools.values()}
    for machine, spot in sorted(requested):
        zones = {
            name: zones_of(own, settings)
            for name, (pool, own) in pools.items()
            if (pool.machine.cloud_type, own.spot) == (machine, spot)
        }
        yield CloudQuestion(
            subject="machines",
            about=f"where {machine} is offered",
            command=_ecs(
                region, "DescribeAvailableResource", "--DestinationResource", "InstanceType",
                "--InstanceType", machine, "--InstanceChargeType", "PostPaid",
                "--SpotStrategy", "SpotAsPriceGo" if spot else "NoSpot",
            ),
            answer=AvailableResources,
            check=partial(_offered, region=region, machine=machine, zones=zones),
        )  # fmt: skip


def _offered(
    shown: AvailableResources, *, region: str, machine: str, zones: Mapping[str, tuple[str, ...]]
) -> Iterator[PreflightFinding]:
    elsewhere = (
        "aliyun ecs DescribeAvailableResource --RegionId OTHER --DestinationResource InstanceType "
        f"--InstanceType {machine}"
    )
    yield check_offer(machine, region, zones, shown.zones_with(machine), elsewhere)
    for pool, requested in sorted(zones.items()):
        gone = sorted(set(shown.sold_out(machine)) & set(requested))
        if gone:
            message = f"pool {pool}: {machine} is sold out now in zone {', '.join(gone)}"
            fix = "another zone, or a reservation: aliyun ecs CreateCapacityReservation …"
            yield PreflightFinding(level="warning", subject="machines", message=message, fix=fix)


def _reserved(pool: PoolPlan, reservation: str, settings: AckClusterSettings) -> CloudQuestion:
    region, machine, most = settings.region, pool.machine.cloud_type, pool.max_nodes
    zones = zones_of(settings.pools[pool.name], settings)
    what = "ElasticityAssurance" if reservation.startswith("eap-") else "CapacityReservation"
    ask = (
        f"aliyun ecs Modify{what} --RegionId {region} --PrivatePoolOptions.Id {reservation} "
        f"--InstanceAmount {most}"
    )
    return CloudQuestion(
        subject="reservation",
        about=f"the reservation {reservation} of pool {pool.name}",
        command=_ecs(region, f"Describe{what}s", "--PrivatePoolOptions.Ids", json.dumps([reservation])),
        answer=PrivatePools,
        check=lambda shown: [
            check_reservation(
                pool.name, reservation, machine, kept=shown.kept(machine, zones), most=most, ask=ask
            )
        ],
    )
