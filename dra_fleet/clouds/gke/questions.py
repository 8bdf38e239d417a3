"""What a Google Cloud project is asked before `pulumi up`: machines, reservations, permissions, versions.

Sources: https://cloud.google.com/sdk/gcloud/reference (auth list, projects describe, compute machine-types,
accelerator-types and reservations list, policy-troubleshoot iam, container get-server-config).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.answers import judge_offer, judge_permissions, judge_reservation
from dra_fleet.clouds.gke.answers import (
    AccessState,
    ComputeOffers,
    ComputeReservations,
    GcloudLogins,
    Project,
    ServerConfig,
)
from dra_fleet.clouds.gke.quota_questions import quota_questions
from dra_fleet.clouds.questions import CloudQuestion, judged_together, version_question
from dra_fleet.findings.preflight import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.clouds.gke.pool_settings import GkePoolSettings
    from dra_fleet.clouds.gke.settings import GkeClusterSettings
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    Pools = Mapping[str, tuple[PoolPlan, GkePoolSettings]]

_JSON: Final = "--format=json"
_UPDATES: Final = "container.clusters.update"
"""Node pools are part of their cluster: https://cloud.google.com/kubernetes-engine/docs/reference/rest."""
_CREATES: Final = "container.clusters.create"
_ROLE: Final = "roles/container.admin"
_UNKNOWN: Final = {
    "UNKNOWN_CONDITIONAL": "it depends on a condition",
    "UNKNOWN_INFO_DENIED": "this login may not read all policies",
}


def questions(settings: GkeClusterSettings, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
    """What is asked for a cluster: who is logged in, then whether that reaches the project, then the rest."""
    return [
        CloudQuestion(
            subject="account",
            about="who is logged in",
            command=("gcloud", "auth", "list", "--filter=status:ACTIVE", _JSON),
            answer=GcloudLogins,
            judge=_logged_in,
            then=lambda told: [_project(cluster, settings, login.account) for login in told.root[:1]],
        )
    ]


def _logged_in(told: GcloudLogins) -> Iterator[PreflightFinding]:
    if not told.root:
        message = "GKE was not asked for quota, machines and permissions: nobody is logged in"
        yield PreflightFinding(level="warning", subject="account", message=message, fix="gcloud auth login")


def _project(cluster: ClusterPlan, settings: GkeClusterSettings, login: str) -> CloudQuestion:
    return CloudQuestion(
        subject="account",
        about=f"whether {login} reaches project {settings.project}",
        command=("gcloud", "projects", "describe", settings.project, _JSON),
        answer=Project,
        judge=lambda _: (),
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
                judge=partial(_offered, kind=kind, region=region, by_pool=by_pool, zones=zones),
            )  # fmt: skip


def _offered(
    told: ComputeOffers,
    *,
    kind: str,
    region: str,
    by_pool: Mapping[str, str],
    zones: Mapping[str, Iterable[str]],
) -> Iterator[PreflightFinding]:
    for wanted in sorted(set(by_pool.values())):
        offered = [item.in_zone for item in told.root if item.name == wanted]
        pools = {name: zones[name] for name, its in by_pool.items() if its == wanted}
        elsewhere = f"gcloud compute {kind} list --filter=name={wanted}"
        yield judge_offer(wanted, region, pools, offered, elsewhere)


def _reserved(pool: PoolPlan, names: Sequence[str], settings: GkeClusterSettings) -> CloudQuestion:
    parts = names[0].split("/")
    place = dict(zip(parts[0::2], parts[1::2], strict=False)) if len(parts) > 1 else {}
    project = place.get("projects", settings.project)
    # projects/P/reservations/R/reservationBlocks/B names a part of R.
    own = sorted({name.split("/")[3] if "/" in name else name for name in names})
    machine, most = pool.machine.cloud_type, pool.max_nodes
    zones = settings.pools[pool.name].zones
    ask = f"gcloud compute reservations update {own[0]} --project={project} --zone=ZONE --vm-count={most}"

    def judge(told: ComputeReservations) -> Iterator[PreflightFinding]:
        here = [item for item in told.root if not zones or item.in_zone in zones]
        if any(item.specific is None for item in here):
            message = f"pool {pool.name}: how many of {machine} {', '.join(own)} reserves is unknown"
            yield PreflightFinding(level="warning", subject="reservation", message=message)
            return
        specific = [item.specific for item in here if item.specific is not None]
        kept = sum(item.count for item in specific if item.properties.machine == machine)
        yield judge_reservation(pool.name, ", ".join(own), machine, kept=kept, most=most, ask=ask)

    return CloudQuestion(
        subject="reservation",
        about=f"the reservation {', '.join(own)} of pool {pool.name}",
        command=(
            "gcloud", "compute", "reservations", "list", f"--filter=name=({' '.join(own)})",
            f"--project={project}", _JSON,
        ),
        answer=ComputeReservations,
        judge=judge,
    )  # fmt: skip


def _permitted(settings: GkeClusterSettings, login: str) -> Sequence[CloudQuestion]:
    wanted = (_UPDATES,) if settings.create is None else (_CREATES, _UPDATES)
    project = settings.project
    kind = "serviceAccount" if login.endswith(".gserviceaccount.com") else "user"
    ask = f"gcloud projects add-iam-policy-binding {project} --member={kind}:{login} --role={_ROLE}"

    def judge(told: Sequence[AccessState]) -> Iterator[PreflightFinding]:
        found = dict(zip(wanted, (item.access for item in told), strict=True))
        missing = {action: ask for action, access in found.items() if access == "NOT_GRANTED"}
        unknown = {
            action: _UNKNOWN.get(access, "Google does not tell")
            for action, access in found.items()
            if access not in {"GRANTED", "NOT_GRANTED"}
        }
        yield from judge_permissions(missing, unknown, f"project {project}")

    return judged_together(
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
                judge=lambda _: (),
            )
            for action in wanted
        ],
        judge,
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
        lambda told: told.of_channel(channel),
        among=f", channel {channel}",
    )  # fmt: skip
