"""The project of a GKE cluster: access to clusters, and questions before `pulumi up` with answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pydantic import Field, RootModel

from dra_fleet.clouds.account import (
    ADOPTED,
    Answered,
    CloudQuestion,
    Exposed,
    Lookup,
    Quota,
    check_offer,
    check_permissions,
    check_quota,
    check_reservation,
    checked_together,
    options,
    version_question,
)
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.resources import chips_of
from dra_fleet.core.findings.errors import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dra_fleet.clouds.gke.facts import GkeQuota
    from dra_fleet.clouds.gke.settings import GkeClusterSettings, GkePoolSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, GkePoolSettings]]


_EVERYWHERE = Exposed(
    subject="API server",
    text="DNS name that answers from everywhere to whom IAM lets in; no public address",
    level="note",
)
_INSIDE = Exposed(
    subject="API server", text="DNS name that answers inside Google Cloud only; no public address"
)
_LOGIN = Exposed(
    subject="credentials", text="Google IAM by gke-gcloud-auth-plugin; no kubeconfig holds a secret"
)


def exposure(settings: GkeClusterSettings) -> Sequence[Exposed]:
    """Return the exposure of a cluster."""
    if settings.access is None:
        return [ADOPTED]
    return [_EVERYWHERE if settings.access.external else _INSIDE, _LOGIN]


_UNLIMITED: Final = -1
"""https://cloud.google.com/docs/quotas/reference/rest/v1/projects.locations.services.quotaInfos#QuotaDetails"""


class _Login(Answered):
    account: str


class GcloudLogins(RootModel[tuple[_Login, ...]]):
    """The answer of `gcloud auth list`."""


class Project(Answered):
    """The answer of `gcloud projects describe`."""

    id: str = Field(alias="projectId")


class _Metric(Answered):
    metric: str
    limit: float
    usage: float


class Quotas(Answered):
    """The quotas in the answer of `gcloud compute regions describe` and `project-info describe`."""

    quotas: tuple[_Metric, ...] = ()

    def quota(self, metric: str) -> Quota | None:
        """Return a quota; None if it is not reported."""
        return next(
            (Quota(limit=item.limit, used=item.usage) for item in self.quotas if item.metric == metric), None
        )


class _Details(Answered):
    value: int | None = None


class _Dimensions(Answered):
    dimensions: Mapping[str, str] = Field(default_factory=dict)
    details: _Details = _Details()
    places: tuple[str, ...] = Field(default=(), alias="applicableLocations")


class QuotaInfo(Answered):
    """The answer of `gcloud quotas info describe`: values by dimensions, the most exact first in force."""

    infos: tuple[_Dimensions, ...] = Field(default=(), alias="dimensionsInfos")

    def quota(self, dimensions: Mapping[str, str]) -> Quota | None:
        """Return the quota of the most specific entry that matches; None if no entry does.

        Args:
            dimensions: such as the region and the family.
        """
        region = dimensions.get("region")
        fitting = [
            info
            for info in self.infos
            if info.dimensions.items() <= dimensions.items()
            and ("region" in info.dimensions or not info.places or region in info.places)
        ]
        shown = max(fitting, key=lambda info: len(info.dimensions), default=None)
        if shown is None or shown.details.value is None:
            return None
        return Quota(limit=inf if shown.details.value == _UNLIMITED else shown.details.value)


class _Offer(Answered):
    name: str
    zone: str

    @property
    def in_zone(self) -> str:
        """The zone's name, which some answers give as a URL."""
        return self.zone.rpartition("/")[2]


class ComputeOffers(RootModel[tuple[_Offer, ...]]):
    """The answer of `gcloud compute machine-types list` and `accelerator-types list`."""


class _Properties(Answered):
    machine: str = Field(default="", alias="machineType")


class _Specific(Answered):
    count: int
    properties: _Properties = Field(default=_Properties(), alias="instanceProperties")


class _ComputeReservation(_Offer):
    specific: _Specific | None = Field(default=None, alias="specificReservation")


class ComputeReservations(RootModel[tuple[_ComputeReservation, ...]]):
    """The answer of `gcloud compute reservations list`."""


class AccessState(Answered):
    """The answer of `gcloud policy-troubleshoot iam`."""

    access: Literal[
        "ACCESS_STATE_UNSPECIFIED", "GRANTED", "NOT_GRANTED", "UNKNOWN_CONDITIONAL", "UNKNOWN_INFO_DENIED"
    ]


class _Channel(Answered):
    channel: str
    versions: tuple[str, ...] = Field(default=(), alias="validVersions")


class ServerConfig(Answered):
    """The answer of `gcloud container get-server-config`."""

    channels: tuple[_Channel, ...] = ()
    versions: tuple[str, ...] = Field(default=(), alias="validMasterVersions")

    def of_channel(self, name: str) -> tuple[str, ...]:
        """Return the versions of a release channel; without a channel, those offered outside of channels."""
        return next((item.versions for item in self.channels if item.channel == name), self.versions)


_SERVICE: Final = "--service=compute.googleapis.com"
_JSON: Final = "--format=json"


class _QuotaName(NamedTuple):
    """A quota: its metric in Compute Engine, its id in Cloud Quotas, and its dimension there."""

    metric: str
    quota: str
    family: tuple[tuple[str, str], ...] = ()

    @property
    def called(self) -> str:
        return self.metric or " ".join((self.quota, *(value for _, value in self.family)))


_ALL_REGIONS: Final = _QuotaName("GPUS_ALL_REGIONS", "GPUS-ALL-REGIONS-per-project")


def quota_questions(project: str, region: str, pools: Pools) -> list[CloudQuestion]:
    """Return the quota questions. Pools with reserved machines count against no quota.

    Args:
        project: its id.
        region: where the pools are.
        pools: plan and settings by name.
    """
    requested, unnamed = _requested(pools)
    here = f"--project={project}"
    check = partial(_check, project=project, region=region)
    asked = [
        CloudQuestion(
            subject="quota",
            about=f"the quotas of {project} in {region}",
            command=("gcloud", "compute", "regions", "describe", region, here, _JSON),
            answer=Quotas,
            check=lambda shown: [
                *(check(shown, name, count) for name, count in requested.items() if _of_region(name)),
                *(_unnamed(pool, accelerator, project) for pool, accelerator in unnamed),
            ],
        )
    ]
    if _ALL_REGIONS in requested:
        asked.append(
            CloudQuestion(
                subject="quota",
                about=f"the quotas of {project} in all regions",
                command=("gcloud", "compute", "project-info", "describe", here, _JSON),
                answer=Quotas,
                check=lambda shown: [check(shown, _ALL_REGIONS, requested[_ALL_REGIONS])],
            )
        )
    for quota in sorted({name.quota for name in requested if not name.metric}):
        names = {name: count for name, count in requested.items() if name.quota == quota and not name.metric}
        asked.append(
            CloudQuestion(
                subject="quota",
                about=f"the quota {quota} of {project}",
                command=("gcloud", "quotas", "info", "describe", quota, _SERVICE, here, _JSON),
                answer=QuotaInfo,
                check=partial(_check_all, names=names, project=project, region=region),
            )
        )
    return asked if requested or unnamed else []


def _of_region(name: _QuotaName) -> bool:
    return bool(name.metric) and name != _ALL_REGIONS


def _requested(pools: Pools) -> tuple[Counter[_QuotaName], list[tuple[str, str]]]:
    """Return the pools' maximum demand by quota, and each pool's accelerators without a known quota."""
    requested: Counter[_QuotaName] = Counter()
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
            requested[name] += count
        if chips is None and not spot:
            requested[_ALL_REGIONS] += count
    return requested, unnamed


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


def _check_all(
    shown: QuotaInfo, *, names: Mapping[_QuotaName, int], project: str, region: str
) -> Iterator[PreflightFinding]:
    for name, count in names.items():
        yield _check(shown, name, count, project=project, region=region)


def _check(
    shown: Quotas | QuotaInfo, name: _QuotaName, count: int, *, project: str, region: str
) -> PreflightFinding:
    everywhere = name == _ALL_REGIONS
    dimensions = {} if everywhere else {"region": region, **dict(name.family)}
    quota = shown.quota(name.metric) if isinstance(shown, Quotas) else shown.quota(dimensions)
    of = ",".join(f"{key}={value}" for key, value in dimensions.items())
    ask = (
        f"gcloud quotas preferences create {_SERVICE} --project={project} --quota-id={name.quota} "
        f"--preferred-value={count}{f' --dimensions={of}' if of else ''}"
    )
    place = "all regions" if everywhere else region
    return check_quota(count, "accelerators", name.called, place, quota=quota, ask=ask)


_UPDATES: Final = "container.clusters.update"
"""Node pools are part of their cluster: https://cloud.google.com/kubernetes-engine/docs/reference/rest."""
_CREATES: Final = "container.clusters.create"
_ROLE: Final = "roles/container.admin"
_UNKNOWN: Final = {
    "UNKNOWN_CONDITIONAL": "it depends on a condition",
    "UNKNOWN_INFO_DENIED": "this login may not read all policies",
}


def lookup(kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]) -> Lookup | None:
    """Return the question for a cluster or node pool."""
    match kind, {"project": provider.get("project"), **inputs}:
        case "gcp:container/cluster:Cluster", {
            "name": str(name),
            "location": str(location),
            "project": str(project),
        }:
            command = ("gcloud", "container", "clusters", "describe", name)
            identifier = f"projects/{project}/locations/{location}/clusters/{name}"
        case "gcp:container/nodePool:NodePool", {
            "name": str(name),
            "cluster": str(cluster),
            "location": str(location),
            "project": str(project),
        }:
            cluster = cluster.rpartition("/")[2]
            command = ("gcloud", "container", "node-pools", "describe", name, "--cluster", cluster)
            identifier = f"projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{name}"
        case _:
            return None
    where = (*options(location=location, project=project), _JSON)
    return Lookup(command=(*command, *where), absent=("code=404",), identifier=lambda _: identifier)


def questions(settings: GkeClusterSettings, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """Return the questions for a cluster: first the login, then access to the project, then the others."""
    return [
        CloudQuestion(
            subject="account",
            about="who is logged in",
            command=("gcloud", "auth", "list", "--filter=status:ACTIVE", _JSON),
            answer=GcloudLogins,
            check=_logged_in,
            then=lambda shown: [_project(cluster, settings, login.account) for login in shown.root[:1]],
        )
    ]


def _logged_in(shown: GcloudLogins) -> Iterator[PreflightFinding]:
    if not shown.root:
        message = "quota, machines and permissions of GKE were not checked: you are not logged in"
        yield PreflightFinding(level="unchecked", subject="account", message=message, fix="gcloud auth login")


def _project(cluster: ClusterPlan, settings: GkeClusterSettings, login: str) -> CloudQuestion:
    return CloudQuestion(
        subject="account",
        about=f"whether {login} reaches project {settings.project}",
        command=("gcloud", "projects", "describe", settings.project, _JSON),
        answer=Project,
        check=lambda _: (),
        then=lambda _: _of_project(cluster, settings, login),
    )


def _of_project(cluster: ClusterPlan, settings: GkeClusterSettings, login: str) -> list[CloudQuestion]:
    region = "-".join(settings.location.split("-")[:2])
    pools = {pool.name: (pool, settings.pools[pool.name]) for pool in cluster.pools}
    asked = [
        *quota_questions(settings.project, region, pools),
        *_offers(settings, region, pools),
        *(
            _reserved(pool, own.reservation.names, settings)
            for pool, own in pools.values()
            if own.reservation is not None and own.reservation.names
        ),
        *_permitted(settings, login),
    ]
    if settings.create is not None:
        asked.append(_versions(cluster.kubernetes, settings))
    return asked


def _offers(settings: GkeClusterSettings, region: str, pools: Pools) -> Iterator[CloudQuestion]:
    """Machine types, and the GPUs that are attached to some of them."""
    machines = {name: pool.machine.cloud_type for name, (pool, _) in pools.items()}
    attached = {
        name: str(pool.machine.accelerator)
        for name, (pool, _) in pools.items()
        if pool.machine.accelerator and pool.machine.instance_type
    }
    at = settings.location
    zones = {name: own.zones or ((at,) if at != region else ()) for name, (_, own) in pools.items()}
    for kind, by_pool in (("machine-types", machines), ("accelerator-types", attached)):
        names = sorted(set(by_pool.values()))
        if names:
            which = f"name=({' '.join(names)}) AND zone~{region}-"
            yield CloudQuestion(
                subject="machines",
                about=f"where {', '.join(names)} are offered",
                command=(
                    "gcloud", "compute", kind, "list", f"--filter={which}", f"--project={settings.project}",
                    _JSON,
                ),
                answer=ComputeOffers,
                check=partial(_offered, kind=kind, region=region, by_pool=by_pool, zones=zones),
            )  # fmt: skip


def _offered(
    shown: ComputeOffers,
    *,
    kind: str,
    region: str,
    by_pool: Mapping[str, str],
    zones: Mapping[str, Iterable[str]],
) -> Iterator[PreflightFinding]:
    for requested in sorted(set(by_pool.values())):
        offered = [item.in_zone for item in shown.root if item.name == requested]
        pools = {name: zones[name] for name, its in by_pool.items() if its == requested}
        elsewhere = f"gcloud compute {kind} list --filter=name={requested}"
        yield check_offer(requested, region, pools, offered, elsewhere)


def _reserved(pool: PoolPlan, names: Sequence[str], settings: GkeClusterSettings) -> CloudQuestion:
    parts = names[0].split("/")
    place = dict(zip(parts[0::2], parts[1::2], strict=False)) if len(parts) > 1 else {}
    project = place.get("projects", settings.project)
    # projects/P/reservations/R/reservationBlocks/B names a part of R.
    own = sorted({name.split("/")[3] if "/" in name else name for name in names})
    machine, most = pool.machine.cloud_type, pool.max_nodes
    zones = settings.pools[pool.name].zones
    ask = f"gcloud compute reservations update {own[0]} --project={project} --zone=ZONE --vm-count={most}"

    def check(shown: ComputeReservations) -> Iterator[PreflightFinding]:
        here = [item for item in shown.root if not zones or item.in_zone in zones]
        if any(item.specific is None for item in here):
            message = f"pool {pool.name}: how many of {machine} {', '.join(own)} reserves is unknown"
            yield PreflightFinding(level="warning", subject="reservation", message=message)
            return
        specific = [item.specific for item in here if item.specific is not None]
        kept = sum(item.count for item in specific if item.properties.machine == machine)
        yield check_reservation(pool.name, ", ".join(own), machine, kept=kept, most=most, ask=ask)

    return CloudQuestion(
        subject="reservation",
        about=f"the reservation {', '.join(own)} of pool {pool.name}",
        command=(
            "gcloud", "compute", "reservations", "list", f"--filter=name=({' '.join(own)})",
            f"--project={project}", _JSON,
        ),
        answer=ComputeReservations,
        check=check,
    )  # fmt: skip


def _permitted(settings: GkeClusterSettings, login: str) -> Sequence[CloudQuestion]:
    requested = (_UPDATES,) if settings.create is None else (_CREATES, _UPDATES)
    project = settings.project
    kind = "serviceAccount" if login.endswith(".gserviceaccount.com") else "user"
    ask = f"gcloud projects add-iam-policy-binding {project} --member={kind}:{login} --role={_ROLE}"

    def check(shown: Sequence[AccessState]) -> Iterator[PreflightFinding]:
        found = dict(zip(requested, (item.access for item in shown), strict=True))
        missing = {action: ask for action, access in found.items() if access == "NOT_GRANTED"}
        unknown = {
            action: _UNKNOWN.get(access, "Google does not report")
            for action, access in found.items()
            if access not in {"GRANTED", "NOT_GRANTED"}
        }
        yield from check_permissions(missing, unknown, f"project {project}")

    return checked_together(
        [
            CloudQuestion(
                subject="permissions",
                about=f"what {login} may do in {project}",
                command=(
                    "gcloud", "policy-troubleshoot", "iam",
                    f"//cloudresourcemanager.googleapis.com/projects/{project}",
                    f"--principal-email={login}", f"--permission={action}", _JSON,
                ),
                answer=AccessState,
                check=lambda _: (),
            )
            for action in requested
        ],
        check,
    )  # fmt: skip


def _versions(minor: str, settings: GkeClusterSettings) -> CloudQuestion:
    location, channel = settings.location, settings.upgrades.channel
    return version_question(
        settings.version or minor,
        location,
        (
            "gcloud", "container", "get-server-config", f"--location={location}",
            f"--project={settings.project}", _JSON,
        ),
        ServerConfig,
        lambda shown: shown.of_channel(channel),
        among=f", channel {channel}",
    )  # fmt: skip
