"""The account of EKS clusters: access to clusters, and questions before `pulumi up` with answers."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic import Field

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
    options,
    version_question,
)
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.plan import zones_of
from dra_fleet.core.findings.errors import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.eks.facts import VcpuQuota
    from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, EksPoolSettings]]


def exposure(settings: EksClusterSettings) -> Sequence[Exposed]:
    """Return the exposure of a cluster."""
    access = settings.access
    if access is None:
        return [ADOPTED]
    return [
        address(access.public_ranges, is_private=access.private),
        Exposed(subject="credentials", text="AWS IAM by short-lived tokens; no kubeconfig holds a secret"),
        administrators(access.admins, "creates the cluster"),
    ]


class CallerIdentity(Login):
    """The answer of `aws sts get-caller-identity`."""

    account: str = Field(alias="Account")
    arn: str = Field(alias="Arn")

    @property
    def entity(self) -> tuple[str, str, str]:
        """The ARN of the user or role that IAM knows, its kind and its name.

        Of a session of a role it is the role's, without its path, which no session reports:
        https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
        """
        kind, _, rest = self.arn.rpartition(":")[2].partition("/")
        if kind != "assumed-role":
            return self.arn, kind, rest.rpartition("/")[2]
        partition, name = self.arn.split(":")[1], rest.split("/")[0]
        return f"arn:{partition}:iam::{self.account}:role/{name}", "role", name


class _ServiceQuota(Answered):
    code: str = Field(alias="QuotaCode")
    value: float = Field(alias="Value")


class ServiceQuotas(Answered):
    """The answer of `aws service-quotas list-service-quotas`."""

    quotas: tuple[_ServiceQuota, ...] = Field(alias="Quotas")


class _Offering(Answered):
    machine: str = Field(alias="InstanceType")
    zone: str = Field(alias="Location")


class Offerings(Answered):
    """The answer of `aws ec2 describe-instance-type-offerings`."""

    offerings: tuple[_Offering, ...] = Field(alias="InstanceTypeOfferings")


class _CapacityReservation(Answered):
    machine: str = Field(alias="InstanceType")
    zone: str = Field(alias="AvailabilityZone")
    total: int = Field(alias="TotalInstanceCount")
    state: str = Field(alias="State")


class CapacityReservations(Answered):
    """The answer of `aws ec2 describe-capacity-reservations`."""

    reservations: tuple[_CapacityReservation, ...] = Field(alias="CapacityReservations")


class _Evaluation(Answered):
    action: str = Field(alias="EvalActionName")
    decision: str = Field(alias="EvalDecision")
    missing: tuple[str, ...] = Field(default=(), alias="MissingContextValues")


class Simulation(Answered):
    """The answer of `aws iam simulate-principal-policy`."""

    results: tuple[_Evaluation, ...] = Field(alias="EvaluationResults")


class _EksVersion(Answered):
    version: str = Field(alias="clusterVersion")


class EksVersions(Answered):
    """The answer of `aws eks describe-cluster-versions`."""

    versions: tuple[_EksVersion, ...] = Field(alias="clusterVersions")

    def offered(self) -> list[str]:
        """Return the offered minors."""
        return [item.version for item in self.versions]


_JSON: Final = ("--output", "json")
_ADOPTS: Final = ("eks:DescribeCluster", "eks:CreateNodegroup", "ec2:CreateLaunchTemplate", "iam:PassRole")
_CREATES: Final = ("eks:CreateCluster", *_ADOPTS)
_MAY: Final = "allowed"
_USABLE: Final = ("active", "scheduled")


def lookup(kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]) -> Lookup | None:
    """Return the question for a cluster or node group."""
    where = (*options(region=provider.get("region") or inputs.get("region")), *_JSON)
    match kind, inputs:
        case "aws:eks/cluster:Cluster", {"name": str(name)}:
            command = ("aws", "eks", "describe-cluster", *options(name=name), *where)
            identifier = name
        case "aws:eks/nodeGroup:NodeGroup", {"clusterName": str(cluster), "nodeGroupName": str(name)}:
            named = ("--cluster-name", cluster, "--nodegroup-name", name)
            command = ("aws", "eks", "describe-nodegroup", *named, *where)
            identifier = f"{cluster}:{name}"
        case _:
            return None
    return Lookup(command=command, absent=("resourcenotfoundexception",), identifier=lambda _: identifier)


def questions(settings: EksClusterSettings, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """Return the questions for a cluster: first the login, then the account."""
    command = ("aws", "sts", "get-caller-identity", "--region", settings.region, *_JSON)
    then = partial(_of_account, cluster, settings)
    return [account_question("AWS", settings.account, command, CallerIdentity, then)]


def _of_account(
    cluster: ClusterPlan, settings: EksClusterSettings, caller: CallerIdentity
) -> Sequence[CloudQuestion]:
    region = settings.region
    where = ("--region", region, *_JSON)
    pools = {pool.name: (pool, settings.pools[pool.name]) for pool in cluster.pools}
    machines = sorted({pool.machine.cloud_type for pool, _ in pools.values()})
    asked = [
        CloudQuestion(
            subject="quota",
            about=f"the vCPU quotas in {region}",
            command=("aws", "service-quotas", "list-service-quotas", "--service-code", "ec2", *where),
            answer=ServiceQuotas,
            check=partial(_quota, region=region, pools=pools),
        ),
        CloudQuestion(
            subject="machines",
            about=f"where {', '.join(machines)} are offered",
            command=(
                "aws", "ec2", "describe-instance-type-offerings", "--location-type", "availability-zone",
                "--filters", f"Name=instance-type,Values={','.join(machines)}", *where,
            ),
            answer=Offerings,
            check=partial(_offered, settings=settings, pools=pools, machines=machines),
        ),
        *(
            _reserved(pool, own.reservation, settings, where)
            for pool, own in pools.values()
            if own.reservation is not None
        ),
        *_permitted(settings, caller),
    ]  # fmt: skip
    if settings.create is not None:
        command = ("aws", "eks", "describe-cluster-versions", *where)
        asked.append(version_question(cluster.kubernetes, region, command, EksVersions, EksVersions.offered))
    return asked


def _quota(shown: ServiceQuotas, *, region: str, pools: Pools) -> Iterator[PreflightFinding]:
    requested: Counter[str] = Counter()
    quotas: dict[str, VcpuQuota] = {}
    for name, (pool, own) in pools.items():
        # Machines of a Capacity Block are paid for already and count against no quota:
        # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
        if own.capacity == "CAPACITY_BLOCK":
            continue
        quota = eks_facts().quota(pool.machine.cloud_type, spot=own.capacity == "SPOT")
        if quota is None:
            market = "on spot" if own.capacity == "SPOT" else "on demand"
            message = f"pool {name}: against which quota {pool.machine.cloud_type} counts {market} is unknown"
            fix = f"aws service-quotas list-service-quotas --service-code ec2 --region {region}"
            yield PreflightFinding(level="warning", subject="quota", message=message, fix=fix)
            continue
        quotas[quota.code] = quota
        requested[quota.code] += pool.machine.cpus * pool.max_nodes
    known = {item.code: Quota(limit=item.value) for item in shown.quotas}
    for code, cpus in sorted(requested.items()):
        ask = (
            f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {code} "
            f"--desired-value {cpus} --region {region}"
        )
        name = f'"{quotas[code].name}"'
        yield check_quota(cpus, "vCPUs", name, region, quota=known.get(code), ask=ask)


def _offered(
    shown: Offerings, *, settings: EksClusterSettings, pools: Pools, machines: Sequence[str]
) -> Iterator[PreflightFinding]:
    for machine in machines:
        zones = [item.zone for item in shown.offerings if item.machine == machine]
        requested = {
            name: zones_of(own, settings)
            for name, (pool, own) in pools.items()
            if pool.machine.cloud_type == machine
        }
        elsewhere = (
            "aws ec2 describe-instance-type-offerings --location-type region "
            f"--filters Name=instance-type,Values={machine} --region OTHER"
        )
        yield check_offer(machine, settings.region, requested, zones, elsewhere)


def _reserved(
    pool: PoolPlan, reservation: str, settings: EksClusterSettings, where: tuple[str, ...]
) -> CloudQuestion:
    machine, most = pool.machine.cloud_type, pool.max_nodes
    zones = zones_of(settings.pools[pool.name], settings)
    larger = (
        f"describe-capacity-block-offerings --instance-type {machine} --capacity-duration-hours 24"
        if settings.pools[pool.name].capacity == "CAPACITY_BLOCK"
        else f"modify-capacity-reservation --capacity-reservation-id {reservation}"
    )
    ask = f"aws ec2 {larger} --instance-count {most} --region {settings.region}"

    def check(shown: CapacityReservations) -> Iterator[PreflightFinding]:
        kept = sum(
            item.total
            for item in shown.reservations
            if item.machine == machine and item.zone in zones and item.state in _USABLE
        )
        yield check_reservation(pool.name, reservation, machine, kept=kept, most=most, ask=ask)

    return CloudQuestion(
        subject="reservation",
        about=f"the reservation {reservation} of pool {pool.name}",
        command=(
            "aws", "ec2", "describe-capacity-reservations", "--capacity-reservation-ids", reservation,
            *where,
        ),
        answer=CapacityReservations,
        check=check,
    )  # fmt: skip


def _permitted(settings: EksClusterSettings, caller: CallerIdentity) -> list[CloudQuestion]:
    arn, kind, name = caller.entity
    if kind == "root":
        return []
    requested = _ADOPTS if settings.create is None else _CREATES
    given = settings.create or settings.adopt
    if settings.create is not None and settings.create.network is not None:
        requested = (*requested, "ec2:CreateVpc")
    if given is not None and given.node_role is None:
        requested = (*requested, "iam:CreateRole")

    def ask(action: str) -> str:
        statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        policy = f"dra-fleet-{action.replace(':', '-')}"
        return (
            f"aws iam put-{kind}-policy --{kind}-name {name} --policy-name {policy} "
            f"--policy-document '{document}'"
        )

    def check(shown: Simulation) -> Iterator[PreflightFinding]:
        refused = [item for item in shown.results if item.decision != _MAY]
        missing = {item.action: ask(item.action) for item in refused if not item.missing}
        unknown = {
            item.action: f"its policy requests {', '.join(item.missing)}" for item in refused if item.missing
        }
        yield from check_permissions(missing, unknown, f"account {caller.account}")

    return [
        CloudQuestion(
            subject="permissions",
            about=f"what {arn} may do",
            command=(
                "aws", "iam", "simulate-principal-policy", "--policy-source-arn", arn,
                "--action-names", *requested, *_JSON,
            ),
            answer=Simulation,
            check=check,
        )
    ]  # fmt: skip
