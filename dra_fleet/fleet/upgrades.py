"""The path of an upgrade: every step from the versions of a stack to the requested ones, with its verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from typing_extensions import TypedDict

from dra_fleet import drivers
from dra_fleet.core.findings.errors import ExpectedError, choices
from dra_fleet.core.transitions import ANY, VERDICTS, Transition, read_transitions
from dra_fleet.fleet.ages import known_versions
from dra_fleet.fleet.outlook import known_minors, outlook

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dra_fleet.core.transitions import Verdict
    from dra_fleet.model.plan import ClusterPlan, FleetPlan

KUBERNETES = "kubernetes"
MIG = "mig"
UNDOCUMENTED = "no source describes this transition"
"""Reason of a step that is blocked until a person accepts it."""


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


@dataclass(frozen=True, kw_only=True)
class UpgradeStep:
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
    path = [
        step
        for cluster in plan.clusters
        for subject, target in targets.items()
        for before in _used(cluster).get(subject, ())
        for step in _steps(plan, cluster, subject, before, target)
    ]
    _require_known(plan, targets, accepted, path)
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
        step = UpgradeStep(
            cluster=cluster.name,
            subject=subject,
            before=one,
            after=other,
            verdict=found.verdict if found else "blocked",
            reason=found.reason if found else UNDOCUMENTED,
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
    """Return True if a release is the one that a subject names."""
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


def _require_known(
    plan: FleetPlan, targets: Mapping[str, str], accepted: Collection[str], path: Sequence[UpgradeStep]
) -> None:
    used = {subject for cluster in plan.clusters for subject in _used(cluster)}
    for subject in targets:
        if subject not in used:
            allowed = choices(subject, used)
            raise UnknownTargetError(
                f"--to {subject}={targets[subject]}: no cluster uses {subject}; allowed: {allowed}"
            )
    if (minor := targets.get(KUBERNETES)) is not None and minor not in known_minors():
        raise UnknownTargetError(
            f"--to kubernetes={minor}: unknown version; allowed: {', '.join(known_minors())}"
        )
    unknown = [step.name for step in path if step.is_unknown]
    for name in accepted:
        if name not in unknown:
            allowed = ", ".join(dict.fromkeys(unknown)) or "nothing, because every step is known"
            raise UnknownTargetError(f"--accept {name}: not an unknown step of this path; allowed: {allowed}")
