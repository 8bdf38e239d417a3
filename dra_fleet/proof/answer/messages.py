"""Errors and warnings of a proof, as messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dra_fleet.proof.demand.asks import compile_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.verdicts import WorkloadProof
    from dra_fleet.proof.demand.asks import ClaimAsk

STRICT = "production"
"""The environment in which less than `guaranteed` stops the program unless it is accepted by name."""
ACCEPT = {"possible": "order", "unknown": "unknown"}
"""Per verdict the key under `accept` of a workload."""
WAITS = {"possible": "may wait", "never": "waits", "unknown": "may wait"}
"""State of a workload that its queue does not certainly start."""


@dataclass(frozen=True, kw_only=True)
class ProofFailure:
    """A failure that stops the program.

    Attributes:
        text: What is reported.
        about: Whose it is, such as ("workloads", "train").
        classes: The classes without which it could not be otherwise.
        claim: The claim of a workload, and `reason`, why it is refused; "" for others.
    """

    text: str
    about: tuple[str, str]
    classes: frozenset[str] = frozenset()
    claim: str = ""
    reason: str = ""


@dataclass(kw_only=True)
class ProofFindings:
    """Collects both while a plan is proved."""

    strict: bool
    failures: list[ProofFailure] = field(default_factory=list[ProofFailure])
    warnings: list[str] = field(default_factory=list[str])

    def refuse(
        self,
        *path: object,
        what: str,
        got: str = "",
        allowed: str = "",
        fix: str = "",
        order: Sequence[str] = (),
        classes: frozenset[str] = frozenset(),
        claim: str = "",
        reason: str = "",
    ) -> None:
        """Stop the program because of the value at a path below the fleet's key."""
        # A program that proves a plan has loaded the settings' models already; importing a proof must not.
        from dra_fleet.core.findings.errors import SettingsError, under  # noqa: PLC0415

        steps = "".join(
            f"\n  order: {line}" if not number else f"\n         {line}" for number, line in enumerate(order)
        )
        error = SettingsError(path=under(*path), what=what, got=got, allowed=allowed, fix=fix)
        about = (str(path[0]), str(path[1])) if len(path) > 1 else ("", "")
        self.failures.append(
            ProofFailure(text=f"{error}{steps}", about=about, classes=classes, claim=claim, reason=reason)
        )

    def causes(self) -> tuple[str, ...]:
        """Return the failures as texts, without those of workloads whose claim failed for the same reason."""
        claims = {failure.about[1]: failure.text for failure in self.failures if failure.about[0] == "claims"}
        kept = [
            failure.text
            for failure in self.failures
            if not (failure.reason and failure.reason in claims.get(failure.claim, ""))
        ]
        return tuple(dict.fromkeys(kept))

    def without(self, class_name: str) -> str:
        """Remove the failures that a class caused, and return their users as text, which may be empty."""
        caused = [failure for failure in self.failures if class_name in failure.classes]
        self.failures = [failure for failure in self.failures if failure not in caused]
        kinds: dict[str, list[str]] = {}
        for kind, name in dict.fromkeys(one.about for one in caused):
            kinds.setdefault(kind, []).append(name)
        return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())

    def warn(self, *path: object, what: str, fix: str = "") -> None:
        """Warn about the value at a path below the fleet's key."""
        from dra_fleet.core.findings.errors import under  # noqa: PLC0415 - as above

        self.warnings.append(f"{under(*path)}: {what}{f'; {fix}' if fix else ''}")


def refuse_broken(cluster: ClusterPlan, asks: Mapping[str, ClaimAsk], findings: ProofFindings) -> set[str]:
    """Refuse selectors that do not compile; the answer are the claims that cannot be checked for it."""
    broken: set[str] = set()
    minor = cluster.kubernetes
    for item in cluster.classes:
        for index, selector in enumerate(item.spec.selectors):
            problem = compile_problem(selector.cel.expression, minor)
            if problem:
                what = f"selector {index} is rejected by the API server of Kubernetes {minor}: {problem}"
                findings.refuse("classes", item.name, what=what, fix="correct the CEL expression")
    for name, ask in asks.items():
        for one in ask.asks:
            problems = [(item, compile_problem(item.expression, minor)) for item in one.selectors]
            for selector, problem in problems:
                if problem is None:
                    continue
                broken.add(name)
                if selector.place.startswith("claim "):
                    what = f"{one.what} is rejected by the API server of Kubernetes {minor}: {problem}"
                    findings.refuse("claims", name, what=what, fix="correct the CEL expression")
    return broken


def report(
    proof: WorkloadProof,
    section: str,
    growth: Sequence[str],
    classes: frozenset[str],
    findings: ProofFindings,
) -> None:
    """Report a workload's verdict.

    Args:
        proof: The verdict.
        section: `workloads` or `demand`.
        classes: The classes that its claim cannot do without.
        growth: What must happen to pools before its pods are placed, where the least nodes are too few.
        findings: Collects what is said.
    """
    where = f"on cluster {proof.cluster}"
    if proof.admission is not None and proof.admission.word != "guaranteed":
        findings.warnings.append(
            f"cluster {proof.cluster}: workload {proof.name} {WAITS[proof.admission.word]} in its queue: "
            f"{proof.admission.reason}"
        )
    if proof.word in ("never", "error"):
        what = f"{where}, {proof.word}: {proof.reason}"
        findings.refuse(
            section,
            proof.name,
            what=what,
            fix=proof.fix,
            order=proof.order,
            classes=classes,
            claim=proof.claim,
            reason=proof.reason,
        )
        return
    if proof.word in ACCEPT and findings.strict and not proof.accepted:
        key = ACCEPT[proof.word]
        what = f"{where}, {proof.word}: {proof.reason}, which is not enough in production"
        fix = f"{proof.fix or 'choose what is known'}; or accept it: accept: {{{key}: the reason}}"
        findings.refuse(section, proof.name, what=what, fix=fix, order=proof.order)
    elif proof.word in ACCEPT:
        accepted = f" (accepted: {proof.accepted})" if proof.accepted else ""
        order = f": {', then '.join(proof.order)}" if proof.order else ""
        findings.warnings.append(
            f"cluster {proof.cluster}: workload {proof.name} is {proof.word}: {proof.reason}{order}{accepted}"
        )
    elif proof.at_min != "guaranteed":
        findings.warnings.append(
            f"cluster {proof.cluster}: workload {proof.name} needs more nodes than nodes.min: "
            + "; or ".join(growth)
        )
