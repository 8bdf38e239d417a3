"""The proof of a whole plan: every claim and workload on every pool, and what follows from it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dra_fleet.drivers.installed import drivers_of
from dra_fleet.model.nodes import ONE_POD
from dra_fleet.proof.answer.admission import admissions
from dra_fleet.proof.answer.claims import refuse_admin_access, refuse_parameters, report_whole_devices
from dra_fleet.proof.answer.classes import prove_classes, report_unmatched
from dra_fleet.proof.answer.messages import (
    ACCEPT,
    STRICT,
    ProofFindings,
    fix_of,
    reasons_of,
    refuse_broken,
    report,
    why_unmatched,
)
from dra_fleet.proof.answer.pools import pool_fits, wastes
from dra_fleet.proof.answer.verdicts import ClaimProof, ClassProof, Proof, WorkloadProof
from dra_fleet.proof.answer.workloads import (
    WORST_FIRST,
    Answer,
    as_gang,
    check_together,
    must_grow,
    remedy,
    running_together,
)
from dra_fleet.proof.demand.asks import claim_ask, class_objects, drivers_named
from dra_fleet.proof.demand.pod_sets import PodSet, channel_asks, claim_of, pod_sets_of
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search.contention import Question, suitability_by_group
from dra_fleet.proof.search.packing import kinds_of
from dra_fleet.proof.search.placements import Placements, steps_for
from dra_fleet.proof.search.suitability import Suitability, barrier
from dra_fleet.proof.supply.prediction import predict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.model.plan import ClusterPlan, FleetPlan, WorkloadPlan
    from dra_fleet.proof.answer.classes import Missed
    from dra_fleet.proof.answer.verdicts import Judgement, PoolFit
    from dra_fleet.proof.demand.asks import ClaimAsk


def prove(plan: FleetPlan, recorded: Mapping[str, Sequence[NodeGroup]] | None = None) -> Proof:
    """Prove a plan.

    Args:
        plan: The plan of a whole stack.
        recorded: By cluster the nodes as they were recorded; they win over what is predicted.
    """
    findings = ProofFindings(strict=plan.environment == STRICT)
    classes: list[ClassProof] = []
    claims: list[ClaimProof] = []
    workloads: list[WorkloadProof] = []
    missed: dict[str, Missed] = {}
    steps = steps_for(plan.clusters)
    for cluster in plan.clusters:
        placements = Placements(class_objects(cluster), cluster.kubernetes, steps)
        proved = _prove_cluster(cluster, (recorded or {}).get(cluster.name), placements, missed, findings)
        classes += proved[0]
        claims += proved[1]
        workloads += proved[2]
    report_unmatched(classes, missed, plan.clusters, findings)
    return Proof(
        classes=tuple(classes),
        claims=tuple(claims),
        workloads=tuple(workloads),
        failures=findings.causes(),
        warnings=tuple(dict.fromkeys(findings.warnings)),
        managed=tuple(
            f"cluster {cluster.name}, pool {pool.name}: {item.text}"
            for cluster in plan.clusters
            for pool in cluster.pools
            for item in pool.managed_drivers
        ),
    )


def selector_problems(cluster: ClusterPlan) -> tuple[str, ...]:
    """Return the CEL expressions of a cluster's classes and claims that its API server refuses, as texts."""
    findings = ProofFindings(strict=False)
    classes = class_objects(cluster)
    specs = {item.name: item.spec for item in (*cluster.templates, *cluster.claims)}
    asks = {name: claim_ask(name, spec, classes) for name, spec in sorted(specs.items())}
    refuse_broken(cluster, asks, findings)
    return tuple(dict.fromkeys(failure.text for failure in findings.failures))


def _prove_cluster(
    cluster: ClusterPlan,
    recorded: Sequence[NodeGroup] | None,
    placements: Placements,
    missed: dict[str, Missed],
    findings: ProofFindings,
) -> tuple[list[ClassProof], list[ClaimProof], list[WorkloadProof]]:
    classes = placements.classes
    specs = {item.name: item.spec for item in (*cluster.templates, *cluster.claims)}
    asks = {name: claim_ask(name, spec, classes) for name, spec in sorted(specs.items())}
    channels = channel_asks(cluster, classes)
    broken = refuse_broken(cluster, asks, findings)
    requested = [*asks.values(), *channels.values()]
    named = drivers_named(requested, {item.name: classes[item.name] for item in cluster.classes})
    installed = drivers_of(cluster, named)
    refuse_parameters(cluster, installed, asks, findings)
    refuse_admin_access(cluster, installed, asks, findings)
    groups = tuple(recorded) if recorded is not None else predict(cluster, named)
    sane = {name: ask for name, ask in asks.items() if name not in broken}
    report_whole_devices(cluster, sane, groups, placements, findings)
    alone = [(("claims", name), ask) for name, ask in asks.items() if name not in broken]
    alone += [(("computeDomains", name), ask) for name, ask in channels.items()]
    pods = [_any_pod(ask) for _, ask in alone]
    kinds = kinds_of(groups, pods)
    claims = [
        _prove_claim(cluster, path, _question(groups, kinds, [pod], placements), findings)
        for (path, _), pod in zip(alone, pods, strict=True)
    ]
    sound = [item for item in (*cluster.workloads, *cluster.demand) if claim_of(item) not in broken]
    pod_sets, of_workload = pod_sets_of(cluster, sound, asks, classes)
    hurt = [item for item in (*cluster.workloads, *cluster.demand) if claim_of(item) in broken]
    _refuse_placeless(cluster, groups, hurt, pod_sets_of(cluster, hurt, asks, classes), findings)
    of_class = prove_classes(cluster, placements, groups, kinds, missed)
    kinds = kinds_of(groups, pod_sets)
    question = _question(groups, kinds, pod_sets, placements)
    return of_class, claims, _prove_workloads(cluster, sound, of_workload, question, findings)


def _refuse_placeless(
    cluster: ClusterPlan,
    groups: Sequence[NodeGroup],
    workloads: Sequence[WorkloadPlan],
    reported: tuple[Sequence[PodSet], Mapping[str, int]],
    findings: ProofFindings,
) -> None:
    """Refuse pods that no node takes, whatever devices it has: their claims cannot be checked."""
    pod_sets, of_workload = reported
    for item in workloads:
        pod_set = pod_sets[of_workload[item.name]]
        barriers = {group.pool: barrier(pod_set, group.shape) for group in groups}
        if barriers and all(barriers.values()):
            reason = "; ".join(f"pool {pool}: {found}" for pool, found in barriers.items())
            findings.refuse(
                item.section, item.name, what=f"on cluster {cluster.name}, never: {reason}", fix=""
            )


def _question(
    groups: Sequence[NodeGroup], kinds: Sequence[int], pod_sets: Sequence[PodSet], placements: Placements
) -> Question:
    suitability: dict[tuple[int, int], Suitability] = {}
    for number, pod_set in enumerate(pod_sets):
        with suppress(Undecidable):  # what each pool means is reported anyway, in as long as a step takes
            placements.spend(len(groups))
        suitability |= suitability_by_group(number, pod_set, groups, kinds, placements)
    return Question(
        pod_sets=pod_sets, groups=groups, kinds=kinds, suitability=suitability, placements=placements
    )


def _any_pod(ask: ClaimAsk) -> PodSet:
    """Return a pod that has one such claim and may be placed anywhere: a template's users may be unknown."""
    return PodSet(name=ask.name, claim=ask, copies=1, resources=ONE_POD, node_selector={}, tolerations=None)


def _prove_claim(
    cluster: ClusterPlan, path: tuple[str, str], question: Question, findings: ProofFindings
) -> ClaimProof:
    ask = question.pod_sets[0].claim
    pools = pool_fits(question, 0)
    answer, fix = _claim_answer(question, pools)
    if answer.word in ("error", "never"):
        what = f"on cluster {cluster.name}: {answer.reason}"
        findings.refuse(*path, what=what, fix=fix, classes=ask.required)
    elif answer.word == "unknown":
        findings.warnings.append(f"cluster {cluster.name}: claim {ask.name}: {answer.reason}")
    return ClaimProof(
        cluster=cluster.name, name=ask.name, word=answer.word, reason=answer.reason, fix=fix, pools=pools
    )


def _claim_answer(question: Question, pools: Sequence[PoolFit]) -> tuple[Answer, str]:
    error = _error(question, 0)
    if error is not None:
        return error
    taking = [pool for pool in pools if pool.at_max]
    if taking:
        text = ", ".join(f"{pool.pool}: {pool.per_node} per node" for pool in taking)
        return Answer(word="guaranteed", reason=text), ""
    doubtful = next((pool for pool in pools if pool.per_node is None), None)
    if doubtful is not None:
        return Answer(word="unknown", reason=doubtful.reason), doubtful.fix
    if not pools:
        return Answer(word="never", reason="the cluster has no pool"), "add a pool"
    return Answer(word="never", reason=reasons_of(pools)), fix_of(pools)


def _error(question: Question, pod_set: int) -> tuple[Answer, str] | None:
    """Return an `error` verdict if a selector fails on a device that the scheduler would evaluate."""
    for index, group in enumerate(question.groups):
        found = question.suitability[pod_set, index].error
        if found is not None and group.most:
            ask, miss = found
            reason, fix = why_unmatched(ask.what, [miss], 1, f"of pool {group.pool}")
            return Answer(word="error", reason=reason), fix
    return None


def _prove_workloads(
    cluster: ClusterPlan,
    workloads: Sequence[WorkloadPlan],
    of_workload: Mapping[str, int],
    question: Question,
    findings: ProofFindings,
) -> list[WorkloadProof]:
    pod_sets, groups = question.pod_sets, question.groups
    errors = {
        pod_set: error for pod_set in range(len(pod_sets)) if (error := _error(question, pod_set)) is not None
    }
    checked = [pod_set for pod_set in range(len(pod_sets)) if pod_set not in errors]
    queued = admissions(cluster.queues, workloads)
    states = running_together(workloads, of_workload, queued)
    steady = all(group.least == group.most for group in groups)

    def verdicts(asked: Question) -> tuple[dict[int, Answer], dict[int, Answer]]:
        most = check_together(asked, checked, states, [group.most for group in groups], queued)
        if steady:
            return most, most
        return most, check_together(asked, checked, states, [group.least for group in groups], queued)

    at_max, at_min = verdicts(question)

    def word_of(changed: Question, pod_set: int) -> Judgement:
        return verdicts(changed)[0][pod_set].word

    def is_as_good(changed: Question) -> bool:
        return all(
            WORST_FIRST.index(answers[pod_set].word) >= WORST_FIRST.index(before[pod_set].word)
            for before, answers in zip((at_max, at_min), verdicts(changed), strict=True)
            for pod_set in checked
        )

    fits = [pool_fits(question, pod_set) for pod_set in range(len(pod_sets))]
    wasted = wastes(question, fits, {pool.name: pool for pool in cluster.pools}, is_as_good)
    proofs: list[WorkloadProof] = []
    reported: set[str] = set()
    for item in workloads:
        pod_set = of_workload[item.name]
        pools = fits[pod_set]
        if pod_set in errors:
            answer, fix = errors[pod_set]
            least: Judgement = "error"
        else:
            answer = as_gang(item, cluster.kubernetes, at_max[pod_set])
            least = as_gang(item, cluster.kubernetes, at_min[pod_set]).word
            answer, fix = _explained(answer, pools, item.gang or item.copies)
            if pod_sets[pod_set].gang and answer.word in ("possible", "never"):
                fix = remedy(question, pod_set, word_of) or fix
        proof = WorkloadProof(
            cluster=cluster.name,
            name=item.name,
            claim=claim_of(item),
            copies=item.copies,
            word=answer.word,
            at_min=least,
            reason=answer.reason,
            fix=fix,
            order=answer.order,
            accepted=item.accept.get(ACCEPT.get(answer.word, ""), ""),
            pools=pools,
            admission=queued.of.get(item.name),
            gang=item.gang or None,
            waste=wasted.get(pod_set),
        )
        if answer.excess and answer.excess not in reported:
            reported.add(answer.excess)
            what = f"on cluster {cluster.name}, in every order some pod waits: {answer.excess}"
            fix = "run fewer copies, or raise nodes.max" + (", or lower the quotas" if queued.of else "")
            findings.refuse(item.section, item.name, what=what, fix=fix)
        grows = proof.word == "guaranteed" and proof.at_min != "guaranteed"
        growth = must_grow(cluster, question, pod_set, pools) if grows else ()
        report(proof, item.section, growth, pod_sets[pod_set].claim.required, findings)
        proofs.append(proof)
    return proofs


def _explained(answer: Answer, pools: Sequence[PoolFit], copies: int) -> tuple[Answer, str]:
    """Add the nearest miss and the fix to a verdict if no pool takes a single copy."""
    if answer.word == "guaranteed":
        return answer, ""
    if answer.word == "possible":
        fix = "run fewer copies, add nodes, or use a separate pool for each size of claim"
        return answer, fix
    doubtful = next((pool for pool in pools if pool.per_node is None), None)
    if answer.word == "unknown":
        return answer, doubtful.fix if doubtful else ""
    if all(pool.at_max == 0 for pool in pools) and pools:
        return Answer(word="never", reason=reasons_of(pools)), fix_of(pools)
    most = sum(pool.at_max or 0 for pool in pools)
    if most < copies:
        return answer, f"run {most} copies at most, or raise nodes.max"
    return answer, "run fewer copies, or raise nodes.max"
