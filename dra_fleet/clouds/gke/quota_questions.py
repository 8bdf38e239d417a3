"""What a Google Cloud project is asked about its quotas of accelerators.

Compute Engine tells those of older accelerators with what is in use, Cloud Quotas the others:
https://cloud.google.com/compute/docs/reference/rest/v1/regions and
https://cloud.google.com/docs/quotas/reference/rest/v1/projects.locations.services.quotaInfos.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from dra_fleet.clouds.answers import judge_quota
from dra_fleet.clouds.gke.answers import QuotaInfo, Quotas
from dra_fleet.clouds.gke.chips import chips_of
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.questions import CloudQuestion
from dra_fleet.findings.preflight import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.clouds.gke.facts import GkeQuota
    from dra_fleet.clouds.gke.pool_settings import GkePoolSettings
    from dra_fleet.model.plan import PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, GkePoolSettings]]

_SERVICE: Final = "--service=compute.googleapis.com"
_JSON: Final = "--format=json"


class _QuotaName(NamedTuple):
    """A quota: its metric where Compute Engine tells it, its id in Cloud Quotas, and its dimension there."""

    metric: str
    quota: str
    family: tuple[tuple[str, str], ...] = ()

    @property
    def called(self) -> str:
        return self.metric or " ".join((self.quota, *(value for _, value in self.family)))


_ALL_REGIONS: Final = _QuotaName("GPUS_ALL_REGIONS", "GPUS-ALL-REGIONS-per-project")


def quota_questions(project: str, region: str, pools: Pools) -> list[CloudQuestion]:
    """The questions; pools whose machines are reserved count against no quota any more.

    Args:
        project: its id.
        region: where the pools are.
        pools: plan and settings by name.
    """
    wanted, unnamed = _wanted(pools)
    here = f"--project={project}"
    judge = partial(_judge, project=project, region=region)
    asked = [
        CloudQuestion(
            subject="quota",
            about=f"the quotas of {project} in {region}",
            command=("gcloud", "compute", "regions", "describe", region, here, _JSON),
            answer=Quotas,
            judge=lambda told: [
                *(judge(told, name, count) for name, count in wanted.items() if _of_region(name)),
                *(_unnamed(pool, accelerator, project) for pool, accelerator in unnamed),
            ],
        )
    ]
    if _ALL_REGIONS in wanted:
        asked.append(
            CloudQuestion(
                subject="quota",
                about=f"the quotas of {project} in all regions",
                command=("gcloud", "compute", "project-info", "describe", here, _JSON),
                answer=Quotas,
                judge=lambda told: [judge(told, _ALL_REGIONS, wanted[_ALL_REGIONS])],
            )
        )
    for quota in sorted({name.quota for name in wanted if not name.metric}):
        names = {name: count for name, count in wanted.items() if name.quota == quota and not name.metric}
        asked.append(
            CloudQuestion(
                subject="quota",
                about=f"the quota {quota} of {project}",
                command=("gcloud", "quotas", "info", "describe", quota, _SERVICE, here, _JSON),
                answer=QuotaInfo,
                judge=partial(_judge_all, names=names, project=project, region=region),
            )
        )
    return asked if wanted or unnamed else []


def _of_region(name: _QuotaName) -> bool:
    return bool(name.metric) and name != _ALL_REGIONS


def _wanted(pools: Pools) -> tuple[Counter[_QuotaName], list[tuple[str, str]]]:
    """What the pools take at max by quota, and pools with their accelerators whose quota has no name."""
    wanted: Counter[_QuotaName] = Counter()
    unnamed: list[tuple[str, str]] = []
    for pool, own in pools.values():
        chips = chips_of(pool.machine)
        accelerator = chips.called if chips else pool.machine.accelerator
        count = (chips.count if chips else pool.machine.gpus) * pool.max_nodes
        reserved = own.reservation is not None and own.reservation.consume == "SPECIFIC_RESERVATION"
        if accelerator is None or reserved:
            continue
        # https://cloud.google.com/kubernetes-engine/docs/concepts/dws: flex-start takes preemptible quota.
        spot = own.spot or own.flex_start or own.queued
        name = _name(gke_facts().quota(accelerator), spot=spot)
        if name is None:
            unnamed.append((pool.name, accelerator))
        else:
            wanted[name] += count
        if chips is None and not spot:
            wanted[_ALL_REGIONS] += count
    return wanted, unnamed


def _name(known: GkeQuota | None, *, spot: bool) -> _QuotaName | None:
    if known is None:
        return None
    if known.metric is not None:
        metric = f"PREEMPTIBLE_{known.metric}" if spot else known.metric
        return _QuotaName(metric, f"{metric.replace('_', '-')}-per-project-region")
    quota = known.spot if spot else known.quota
    return None if quota is None else _QuotaName("", quota, () if spot else tuple(known.family.items()))


def _unnamed(pool: str, accelerator: str, project: str) -> PreflightFinding:
    return PreflightFinding(
        level="warning",
        subject="quota",
        message=f"pool {pool}: against which quota its {accelerator} count is unknown",
        fix=f"gcloud quotas info list {_SERVICE} --project={project}",
    )


def _judge_all(
    told: QuotaInfo, *, names: Mapping[_QuotaName, int], project: str, region: str
) -> Iterator[PreflightFinding]:
    for name, count in names.items():
        yield _judge(told, name, count, project=project, region=region)


def _judge(
    told: Quotas | QuotaInfo, name: _QuotaName, count: int, *, project: str, region: str
) -> PreflightFinding:
    everywhere = name == _ALL_REGIONS
    dimensions = {} if everywhere else {"region": region, **dict(name.family)}
    quota = told.quota(name.metric) if isinstance(told, Quotas) else told.quota(dimensions)
    of = ",".join(f"{key}={value}" for key, value in dimensions.items())
    ask = (
        f"gcloud quotas preferences create {_SERVICE} --project={project} --quota-id={name.quota} "
        f"--preferred-value={count}{f' --dimensions={of}' if of else ''}"
    )
    place = "all regions" if everywhere else region
    return judge_quota(count, "accelerators", name.called, place, quota=quota, ask=ask)
