"""What an Alibaba Cloud account is asked before `pulumi up`: quota, machines, reservations, rights, versions.

Sources: https://www.alibabacloud.com/help/en/ecs/developer-reference/api-overview (DescribeAccountAttributes,
DescribeAvailableResource, DescribeElasticityAssurances, DescribeCapacityReservations),
https://www.alibabacloud.com/help/en/ram/developer-reference/api-sts-2015-04-01-getcalleridentity and
https://www.alibabacloud.com/help/en/ack/developer-reference/api-cs-2015-12-15-describekubernetesversionmetadata.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.ack.answers import (
    AccountAttributes,
    AckVersions,
    AvailableResources,
    PrivatePools,
    RamCaller,
)
from dra_fleet.clouds.ack.permission_questions import permission_questions
from dra_fleet.clouds.ack.pools import zones_of
from dra_fleet.clouds.answers import (
    judge_offer,
    judge_quota,
    judge_reservation,
)
from dra_fleet.clouds.questions import CloudQuestion, account_question, version_question
from dra_fleet.findings.preflight import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.ack.settings import AckClusterSettings, AckPoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, AckPoolSettings]]

_ATTRIBUTES: Final = tuple(
    f"{which}-{kind}-instance-vcpu-count" for kind in ("postpaid", "spot") for which in ("max", "used")
)
_MARKETS: Final = {"postpaid": "pay-as-you-go instances", "spot": "spot instances"}


def questions(settings: AckClusterSettings, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """What is asked for a cluster: first whose login this is, then the account."""
    command = ("aliyun", "sts", "GetCallerIdentity", "--region", settings.region)
    then = partial(_of_account, cluster, settings)
    return [account_question("Alibaba Cloud", settings.account, command, RamCaller, then)]


def _of_account(
    cluster: ClusterPlan, settings: AckClusterSettings, caller: RamCaller
) -> Sequence[CloudQuestion]:
    region = settings.region
    pools = {pool.name: (pool, settings.pools[pool.name]) for pool in cluster.pools}
    wanted = ["cs:CreateClusterNodePool"]
    if settings.create is not None:
        wanted += ["cs:CreateCluster", *(["vpc:CreateVpc"] if settings.create.network else [])]
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
            judge=partial(_quota, region=region, pools=pools),
        ),
        *_offers(settings, pools),
        *(
            _reserved(pool, own.reservation, settings)
            for pool, own in pools.values()
            if own.reservation is not None
        ),
        *permission_questions(caller, wanted),
    ]
    if settings.create is not None:
        wanted_version = settings.version or cluster.kubernetes
        command = (
            "aliyun", "cs", "DescribeKubernetesVersionMetadata", "--Region", region,
            "--ClusterType", "ManagedKubernetes", "--Mode", "creatable",
        )  # fmt: skip
        asked.append(version_question(wanted_version, region, command, AckVersions, AckVersions.offered))
    return asked


def _ecs(region: str, operation: str, *options: str) -> tuple[str, ...]:
    return ("aliyun", "ecs", operation, "--RegionId", region, "--region", region, *options)


def _quota(told: AccountAttributes, *, region: str, pools: Pools) -> Iterator[PreflightFinding]:
    wanted: Counter[str] = Counter()
    for pool, own in pools.values():
        wanted["spot" if own.spot else "postpaid"] += pool.machine.cpus * pool.max_nodes
    for kind, cpus in sorted(wanted.items()):
        ask = (
            "aliyun quotas ListProductQuotas --ProductCode ecs --KeyWord vCPU tells the CODE; then aliyun "
            f"quotas CreateQuotaApplication --ProductCode ecs --QuotaActionCode CODE --DesireValue {cpus} "
            f"--Dimensions.1.Key regionId --Dimensions.1.Value {region} --Reason REASON"
        )
        yield judge_quota(cpus, "vCPUs", _MARKETS[kind], region, quota=told.quota(kind), ask=ask)


def _offers(settings: AckClusterSettings, pools: Pools) -> Iterator[CloudQuestion]:
    region = settings.region
    wanted = {(pool.machine.cloud_type, own.spot) for pool, own in pools.values()}
    for machine, spot in sorted(wanted):
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
            judge=partial(_offered, region=region, machine=machine, zones=zones),
        )  # fmt: skip


def _offered(
    told: AvailableResources, *, region: str, machine: str, zones: Mapping[str, tuple[str, ...]]
) -> Iterator[PreflightFinding]:
    elsewhere = (
        "aliyun ecs DescribeAvailableResource --RegionId OTHER --DestinationResource InstanceType "
        f"--InstanceType {machine}"
    )
    yield judge_offer(machine, region, zones, told.zones_with(machine), elsewhere)
    for pool, wanted in sorted(zones.items()):
        gone = sorted(set(told.sold_out(machine)) & set(wanted))
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
        judge=lambda told: [
            judge_reservation(
                pool.name, reservation, machine, kept=told.kept(machine, zones), most=most, ask=ask
            )
        ],
    )
