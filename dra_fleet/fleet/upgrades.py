"""Upgrades of a stack: its age, each step to the requested versions, and the changes on the way."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import TypedDict

from dra_fleet import drivers
from dra_fleet.core.facts import EXAMPLE, is_chart_version
from dra_fleet.core.findings.errors import ExpectedError, SettingsError, choices, under
from dra_fleet.core.transitions import ANY, VERDICTS, Transition, read_transitions
from dra_fleet.fleet.queueing import kueue
from dra_fleet.kubernetes.minors import kubernetes_facts, minor_order

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from dra_fleet.core.transitions import Verdict
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.kubernetes.devices.claim import DeviceClaim, DeviceRequest
    from dra_fleet.model.plan import ClusterPlan, FleetPlan, ReleasePlan

    Place = tuple[tuple[object, ...], str]
    """A path below the cluster, and what is there, as the end of a sentence."""


KUBERNETES = "kubernetes"
MIG = "mig"
UNDOCUMENTED = "no source describes this transition"
"""Reason of a step that is blocked until a person accepts it."""
DOWNGRADE = "Kubernetes does not support the downgrade of a control plane"
"""Source: https://kubernetes.io/releases/version-skew-policy/."""


class UnknownTargetError(ExpectedError):
    """A target names nothing that the stack uses, or a version that does not exist."""


class StepJson(TypedDict):
    """A step of the path."""

    name: str
    cluster: str
    subject: str
    before: str
    after: str
    verdict: Verdict
    reason: str
    steps: list[str]
    notes: list[str]
    source: str


class UpgradeStep(Struct, frozen=True, kw_only=True):
    """A transition on a cluster.

    Attributes:
        cluster: Name of the cluster.
        subject: `kubernetes`, `mig`, or the name of a driver or release.
        before: Version or layout before the step.
        after: The same after the step.
        verdict: Safety of the step.
        reason: Reason if the step is not safe, otherwise "".
        steps: Actions, in order.
        notes: Other changes with this step.
        source: Documentation of the transition; "" if it is unknown.
    """

    cluster: str
    subject: str
    before: str
    after: str
    verdict: Verdict
    reason: str = ""
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def name(self) -> str:
        """The name that `--accept` takes, such as `nvidia:25.8.1-25.12.0`."""
        return f"{self.subject}:{self.before}-{self.after}"

    @property
    def is_unknown(self) -> bool:
        """True if nothing is known about the transition, so that it can be accepted."""
        return self.reason == UNDOCUMENTED

    def as_json(self) -> StepJson:
        """Return the documented shape in `upgrade -o json`."""
        return {
            "name": self.name,
            "cluster": self.cluster,
            "subject": self.subject,
            "before": self.before,
            "after": self.after,
            "verdict": self.verdict,
            "reason": self.reason,
            "steps": list(self.steps),
            "notes": list(self.notes),
            "source": self.source,
        }


def transitions() -> tuple[Transition, ...]:
    """Return every transition that is known, of Kubernetes, of queues and of drivers."""
    of_drivers = (item for driver in drivers.known() for item in driver.transitions())
    own = (*read_transitions("dra_fleet.kubernetes"), *read_transitions("dra_fleet.fleet.queueing"))
    return (*own, *of_drivers)


def upgrade_path(
    plan: FleetPlan, targets: Mapping[str, str], accepted: Collection[str] = ()
) -> tuple[UpgradeStep, ...]:
    """Return the steps from the versions of a plan to the requested ones, those of each cluster together.

    Args:
        plan: The stack as it is.
        targets: The requested version or layout by subject, in the order of the steps.
        accepted: Names of unknown transitions that a person accepted.

    Raises:
        UnknownTargetError: No cluster of the plan uses a subject, or a name in `accepted` is not a step.
    """
    _require_targets(plan, targets)
    path = [
        step
        for cluster in plan.clusters
        for subject, target in targets.items()
        for before in _used(cluster).get(subject, ())
        for step in _steps(plan, cluster, subject, before, target)
    ]
    _require_accepted(accepted, path)
    return tuple(_accepted(step) if step.name in accepted and step.is_unknown else step for step in path)


def worst(path: Sequence[UpgradeStep]) -> Verdict:
    """Return the worst verdict of a path; `safe` if it has no steps."""
    return VERDICTS[max((VERDICTS.index(step.verdict) for step in path), default=0)]


def _used(cluster: ClusterPlan) -> dict[str, list[str]]:
    """Return the versions and layouts that a cluster uses, by subject."""
    found: dict[str, list[str]] = {KUBERNETES: [cluster.kubernetes]}
    for release in cluster.releases:
        driver = drivers.publishing(release.driver)
        is_driver = driver is not None and release.chart.rpartition("/")[2] in {
            item.chart.rpartition("/")[2] for item in driver.facts.versions
        }
        subject = driver.name if driver is not None and is_driver else release.name
        found.setdefault(subject, []).append(release.version)
    layouts = dict.fromkeys(filter(None, (_layout(pool.sharing) for pool in cluster.pools)))
    if layouts:
        found[MIG] = list(layouts)
    return found


def _layout(sharing: object) -> str:
    """Return a pool's MIG layout, such as `1g.5gb:7`; "" for whole devices."""
    layout = cast("Mapping[str, int]", getattr(sharing, "layout", None) or {})
    return ",".join(f"{profile}:{count}" for profile, count in layout.items())


def _steps(
    plan: FleetPlan, cluster: ClusterPlan, subject: str, before: str, target: str
) -> Iterator[UpgradeStep]:
    known = [item for item in transitions() if item.subject == subject]
    for one, other in pairwise(_versions(cluster, subject, known, before, target)):
        found = next((item for item in known if item.leads(one, other)), None)
        lower = subject == KUBERNETES and minor_order(other) < minor_order(one)
        step = UpgradeStep(
            cluster=cluster.name,
            subject=subject,
            before=one,
            after=other,
            verdict=found.verdict if found else "blocked",
            reason=found.reason if found else DOWNGRADE if lower else UNDOCUMENTED,
            steps=found.steps if found else (),
            source=found.source if found else "",
        )
        yield _with_outlook(step, plan, cluster) if subject == KUBERNETES else step


def _versions(
    cluster: ClusterPlan, subject: str, known: Sequence[Transition], before: str, target: str
) -> list[str]:
    """Return the versions on the way, one after the other as the catalogue has them, in either direction."""
    if before == target:
        return []
    order = _order(cluster, subject, before)
    order += [item.after for item in known if item.after not in (*order, ANY)]
    if before not in order or target not in order:
        return [before, target]
    first, last = order.index(before), order.index(target)
    return order[first : last + 1] if first < last else order[last : first + 1][::-1]


def _order(cluster: ClusterPlan, subject: str, before: str) -> list[str]:
    if subject == KUBERNETES:
        return known_minors()
    if subject == MIG:
        return []
    release = next(
        item
        for item in cluster.releases
        if item.version == before and _names(item.driver, subject, item.name)
    )
    return [entry.version for entry in known_versions(release)]


def _names(publisher: str, subject: str, release: str) -> bool:
    driver = drivers.publishing(publisher)
    return subject == release or (driver is not None and driver.name == subject)


def _with_outlook(step: UpgradeStep, plan: FleetPlan, cluster: ClusterPlan) -> UpgradeStep:
    """Add what breaks or changes for the cluster with this Kubernetes version."""
    one = replace(plan, clusters=(replace(cluster, kubernetes=step.before),))
    found = outlook(one, step.after)
    notes = tuple(note.partition(": ")[2] for note in found.notes)  # without the name of the one cluster
    if not found.errors:
        return replace(step, notes=notes)
    reason = "; ".join(str(error) for error in found.errors)
    return replace(step, verdict="blocked", reason=reason, notes=notes)


def _accepted(step: UpgradeStep) -> UpgradeStep:
    steps = ("write the version into the stack file, rehearse it, and deploy one cluster after the other",)
    return replace(step, verdict="manual", reason=f"accepted by name: {step.reason}", steps=steps)


def _require_targets(plan: FleetPlan, targets: Mapping[str, str]) -> None:
    used = {subject for cluster in plan.clusters for subject in _used(cluster)}
    for subject in targets:
        if subject not in used:
            allowed = choices(subject, used)
            raise UnknownTargetError(
                f"--to {subject}={targets[subject]}: no cluster uses {subject}; allowed: {allowed}"
            )
        if subject not in {KUBERNETES, MIG} and not is_chart_version(targets[subject]):
            raise UnknownTargetError(f"--to {subject}={targets[subject]}: not a version; write {EXAMPLE}")
    if (minor := targets.get(KUBERNETES)) is not None and minor not in known_minors():
        raise UnknownTargetError(
            f"--to kubernetes={minor}: unknown version; allowed: {', '.join(known_minors())}"
        )


def _require_accepted(accepted: Collection[str], path: Sequence[UpgradeStep]) -> None:
    unknown = [step.name for step in path if step.is_unknown]
    for name in accepted:
        if name not in unknown:
            allowed = ", ".join(dict.fromkeys(unknown)) or "nothing, because every step is known"
            raise UnknownTargetError(f"--accept {name}: not an unknown step of this path; allowed: {allowed}")


State = Literal["current", "behind", "ended", "old", "unknown"]

BEHIND: Final[frozenset[State]] = frozenset({"behind", "ended", "old"})

MOST_DAYS: Final = 180
"""Maximum age of a price in days."""


class Age(Struct, frozen=True, kw_only=True):
    """A version or fact that a cluster of a stack uses, compared with the catalogue.

    Attributes:
        cluster: Name of the cluster.
        subject: Component, such as "Kubernetes" or "chart gpu-operator".
        used: The version or fact that the stack uses.
        newest: The newest that the catalogue knows; "" if it knows none.
        state: `behind`: the catalogue knows a newer one. `ended`: upstream fixes have ended. `old`: the fact
            was read more than `MOST_DAYS` ago. `unknown`: the catalogue does not know it.
        date: Day on which the fact was read from its source.
    """

    cluster: str
    subject: str
    used: str
    newest: str
    state: State
    date: dt.date | None = None


def ages(plan: FleetPlan, today: dt.date) -> tuple[Age, ...]:
    """Return the age of every version and price of a plan, those of each cluster together.

    Args:
        plan: The plan.
        today: The day to compare dates with.
    """
    return tuple(age for cluster in plan.clusters for age in _of_cluster(cluster, today))


def catalogue_date() -> dt.date:
    """Return the newest day on which a driver's or Kubernetes' facts were read."""
    return max(kubernetes_facts().date, *(driver.facts.date for driver in drivers.known()))


def _of_cluster(cluster: ClusterPlan, today: dt.date) -> Iterator[Age]:
    yield _of_kubernetes(cluster, today)
    yield from (_of_release(cluster.name, release) for release in cluster.releases)
    priced = {pool.machine.name: pool.machine.price for pool in cluster.pools}
    for name, price in sorted(priced.items()):
        if price is not None:
            old = (today - price.date).days > MOST_DAYS
            yield Age(
                cluster=cluster.name,
                subject=f"price of {name}",
                used=f"{price.per_hour:g} {price.currency}/hour",
                newest="",
                state="old" if old else "current",
                date=price.date,
            )


def _of_kubernetes(cluster: ClusterPlan, today: dt.date) -> Age:
    facts = kubernetes_facts()
    entry = facts.minor(cluster.kubernetes)
    state: State = "current" if minor_order(cluster.kubernetes) >= minor_order(facts.newest) else "behind"
    if entry is not None and entry.end_of_life <= today:
        state = "ended"
    return Age(
        cluster=cluster.name,
        subject="Kubernetes",
        used=cluster.kubernetes,
        newest=facts.newest,
        state=state,
        date=facts.date,
    )


def _of_release(cluster: str, release: ReleasePlan) -> Age:
    known = known_versions(release)
    versions = [entry.version for entry in known]
    state: State = "unknown"
    if release.version in versions:
        state = "current" if release.version == versions[-1] else "behind"
    return Age(
        cluster=cluster,
        subject=f"chart {release.name}",
        used=release.version,
        newest=versions[-1] if versions else "",
        state=state,
        date=known[-1].date if known else None,
    )


def known_versions(release: ReleasePlan) -> Sequence[ChartVersion]:
    """Return the versions of a release's chart, the newest last."""
    if release.name == kueue.NAME:
        return [*kueue.versions().values()]
    for driver in drivers.known():
        operator = driver.resources.operator
        if operator is not None and operator.chart == release.name:
            return operator.versions()
    facts = drivers.facts_of(release.driver)
    return facts.versions if facts is not None else ()


def known_minors() -> list[str]:
    """Return the Kubernetes versions that a stack can be proved at, planned ones last."""
    facts = kubernetes_facts()
    return [entry.minor for entry in (*facts.minors, *facts.planned)]


class Outlook(Struct, frozen=True, kw_only=True):
    """Problems and changes for a stack on the way to a later version; `notes` are sentences."""

    errors: tuple[SettingsError, ...] = ()
    notes: tuple[str, ...] = ()


def outlook(plan: FleetPlan, minor: str) -> Outlook:
    """Return what breaks and what changes for the clusters of a plan on the way to a version.

    Args:
        plan: The plan of the stack as it is.
        minor: One of `known_minors`.
    """
    errors: list[SettingsError] = []
    notes: dict[str, list[str]] = {}
    for cluster in plan.clusters:
        for change in kubernetes_facts().changes:
            if not minor_order(cluster.kubernetes) < minor_order(change.minor) <= minor_order(minor):
                continue
            for path, because in _CONCERNS[change.name](cluster):
                what = f"Kubernetes {kubernetes_facts().dated(change.minor)}: {change.what}{because}"
                place = under("clusters", cluster.name, *path)
                if change.level == "error":
                    errors.append(SettingsError(path=place, what=what, fix=change.fix))
                else:
                    notes.setdefault(f"{what}; fix: {change.fix}", []).append(cluster.name)
    return Outlook(
        errors=tuple(errors),
        notes=tuple(f"clusters {', '.join(names)}: {text}" for text, names in notes.items()),
    )


def _of_removed_api(cluster: ClusterPlan) -> Iterator[Place]:
    removed = {change.removes for change in kubernetes_facts().changes if change.removes}
    for release in cluster.releases:
        facts = drivers.facts_of(release.driver)
        chart = facts.version(release.version) if facts else None
        if chart is not None and removed & {*chart.needs_apis}:
            yield ("drivers", release.driver), f", which {release.driver} {release.version} needs"


def _of_gangs(cluster: ClusterPlan) -> Iterator[Place]:
    names = [workload.name for workload in cluster.workloads if workload.gang]
    if names:
        yield (), f"; gangs: {', '.join(names)}"


def _of_shares(cluster: ClusterPlan) -> Iterator[Place]:
    return _of_claims(cluster, lambda devices: any(_capacity(request) for request in devices.requests))


def _of_constraints(cluster: ClusterPlan) -> Iterator[Place]:
    return _of_claims(cluster, lambda devices: bool(devices.constraints))


def _of_claims(cluster: ClusterPlan, concerns: Callable[[DeviceClaim], bool]) -> Iterator[Place]:
    plans = (*cluster.templates, *cluster.claims)
    names = [plan.name for plan in plans if concerns(plan.spec.devices)]
    if names:
        yield (), f"; claims: {', '.join(names)}"


def _capacity(request: DeviceRequest) -> bool:
    asked = (request.exactly, *request.first_available)
    return any(item is not None and item.capacity is not None for item in asked)


def _of_pods(cluster: ClusterPlan) -> Iterator[Place]:
    if cluster.workloads or cluster.demand:
        yield (), ""


def _of_node_resources(cluster: ClusterPlan) -> Iterator[Place]:
    concerned = {driver.facts.driver for driver in drivers.known() if driver.allocates_node_resources}
    for release in cluster.releases:
        if release.driver in concerned:
            yield ("drivers", release.driver), ""


_CONCERNS: Final[Mapping[str, Callable[[ClusterPlan], Iterator[Place]]]] = {
    "gangs-v1alpha1-removed": _of_gangs,
    "gangs-v1alpha2-removed": _of_gangs,
    "v1beta1-removed": _of_removed_api,
    "consumable-capacity-locked": _of_shares,
    "capacity-names": _of_shares,
    "list-attributes": _of_constraints,
    "preemption": _of_pods,
    "node-allocatable": _of_node_resources,
}
"""The parts of a cluster that a change concerns, by the change's name."""
