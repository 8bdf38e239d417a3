"""Errors and warnings of a proof, and the reasons why a request matches too few devices."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import Struct, field

from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN, asked, semver
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.nodes import GIVE_SLICES
from dra_fleet.proof.demand.asks import compile_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.kubernetes.cel.intent import Bound
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.verdicts import PoolFit, WorkloadProof
    from dra_fleet.proof.demand.asks import ClaimAsk
    from dra_fleet.proof.search.suitability import Miss


STRICT = "production"
"""The environment in which less than `guaranteed` stops the program unless it is accepted by name."""
ACCEPT = {"possible": "order", "unknown": "unknown"}
"""Per verdict the key under `accept` of a workload."""
WAITS = {"possible": "may wait", "never": "waits", "unknown": "may wait"}
"""State of a workload that its queue does not certainly start."""


NO_DEVICES = "choose a machine with devices, or install their driver"
_CORRECT_CEL = "correct the CEL expression"
_UNDECLARED = re.compile(r"undeclared reference to '([^']+)'")
_READ = re.compile(r"device\.(attributes|capacity)\[['\"]([^'\"]+)['\"]\]")
_CEL_NAMES = (
    "compareTo", "contains", "device", "endsWith", "false", "isGreaterThan", "isLessThan", "lowerAscii",
    "matches", "quantity", "semver", "startsWith", "true",
)  # fmt: skip
"""Names that selectors use most."""
_CEL_FIXES = (
    ("[\u2018\u2019\u201c\u201d]", "write straight quotes: '…'"),
    (r"recognition error at: '= '", "write == to compare"),
    (r"mismatched input 'and'", "write && instead of and"),
    (r"mismatched input 'or'", "write || instead of or"),
    (
        r"'_[<>]=?_' applied to '\(kubernetes\.Quantity",
        "compare capacities with compareTo, such as .compareTo(quantity('20Gi')) >= 0",
    ),
    (
        r"'_==_' applied to '\(kubernetes\.Quantity, string",
        "compare a capacity with a quantity, or read device.attributes instead of device.capacity",
    ),
)
"""Fixes by what the expression or the API server's message contains."""


class ProofFailure(Struct, frozen=True, kw_only=True):
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


class ProofFindings(Struct, kw_only=True):
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


def _cel_fix(expression: str, problem: str) -> str:
    """Return the fix of an expression that does not compile."""
    from dra_fleet.core.findings.errors import mistyped  # noqa: PLC0415 - as above

    unknown = _UNDECLARED.search(problem)
    name = unknown[1] if unknown else ""
    meant = mistyped(name.partition(".")[0], _CEL_NAMES)
    hints = (fix for pattern, fix in _CEL_FIXES if re.search(pattern, f"{expression}\n{problem}"))
    return f"write '{name}' in quotes" if f"[{name}]" in expression else meant or next(hints, _CORRECT_CEL)


def refuse_broken(cluster: ClusterPlan, asks: Mapping[str, ClaimAsk], findings: ProofFindings) -> set[str]:
    """Refuse selectors that do not compile; the answer are the claims that cannot be checked for it."""
    broken: set[str] = set()
    minor = cluster.kubernetes
    for item in cluster.classes:
        for index, selector in enumerate(item.spec.selectors):
            problem = compile_problem(selector.cel.expression, minor)
            if problem:
                what = f"selector {index} is rejected by the API server of Kubernetes {minor}: {problem}"
                fix = _cel_fix(selector.cel.expression, problem)
                findings.refuse("classes", item.name, what=what, fix=fix)
    for name, ask in asks.items():
        for one in ask.asks:
            problems = [(item, compile_problem(item.expression, minor)) for item in one.selectors]
            for selector, problem in problems:
                if problem is None:
                    continue
                broken.add(name)
                if selector.place.startswith("claim "):
                    what = f"{one.what} is rejected by the API server of Kubernetes {minor}: {problem}"
                    fix = _cel_fix(selector.expression, problem)
                    findings.refuse("claims", name, what=what, fix=fix)
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


MOST_POOLS = 12
"""Pools of which a reason is reported; each of hundreds has the like."""
_CORRECT = "correct the clause, or choose a machine or layout whose devices have what it requests"


class _Ordered(NamedTuple):
    """A device's value of a bounded clause, with the words for most and least."""

    order: tuple[Any, ...]
    text: str
    most: str
    least: str


def nearest(misses: Sequence[Miss]) -> tuple[Miss, str]:
    """Return the miss with the most true clauses and the device's value; for amounts, the closest."""
    most = max(miss.in_use for miss in misses)
    near = [miss for miss in misses if miss.in_use == most]
    bound = _bound(near[0].clause)
    alike = [miss for miss in near if miss.clause == near[0].clause] if bound else []
    amounts = [(_amount(miss, bound.identity), miss) for miss in alike] if bound else []
    known = [(amount, miss) for amount, miss in amounts if amount is not None]
    if bound is None or not known:
        return near[0], _value_read(near[0].clause, near[0].device)
    best = (max if bound.is_least else min)(known, key=lambda pair: pair[0].order)
    which = best[0].most if bound.is_least else best[0].least
    return best[1], f"the {which} device has {bound.identity} {best[0].text}"


def _names(entries: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted({key.rpartition("/")[2] for key in entries}))


@lru_cache(maxsize=4096)
def _meant(key: str, known: tuple[str, ...]) -> str:
    from dra_fleet.core.findings.errors import mistyped  # noqa: PLC0415 - as above

    return mistyped(key, known)


def _key_fix(miss: Miss) -> str:
    """Return the fix of a clause that reads a key which its device does not have."""
    key, driver = miss.message.removeprefix("no such key: "), miss.device.driver
    read = _READ.search(miss.clause)
    attributes, capacity = (_names(miss.device.seen.get(kind, {})) for kind in ("attributes", "capacity"))
    guard = "guard it with device.driver, has() or orValue()"
    if re.search(r" is not a (?:quantity|semantic version)", miss.message):
        return "correct the text in the clause, such as quantity('20Gi') or semver('1.2.3')"
    if read is None or key == miss.message:
        return guard
    if read[1] == "attributes" and key in capacity:
        amount = f"device.capacity['{driver}'].{key}.compareTo(quantity('20Gi')) >= 0"
        return f"{key} is a capacity: write {amount}"
    if read[2] != driver and key in attributes:
        return f"write device.{read[1]}['{driver}'].{key}, or guard it with device.driver"
    return _meant(key, attributes if read[1] == "attributes" else capacity) or guard


def why_unmatched(
    subject: str, misses: Sequence[Miss], total: int, where: str, *, with_place: bool = True
) -> tuple[str, str]:
    """Return why a request or class matches no device of a pool, and the fix.

    Args:
        subject: the request or class.
        misses: one for each device; at least one.
        total: number of devices.
        where: for example "of a node of pool mig".
        with_place: name the class or request, and the number, of the selector.
    """
    miss, value = nearest(misses)
    if miss.outcome == "error":
        text = (
            f"clause `{miss.clause}` of {miss.place} fails on device {miss.device.name} of driver "
            f"{miss.device.driver} {where} ({miss.message}), which stops scheduling on every node"
        )
        return text, _key_fix(miss)
    place = f" ({miss.place})" if with_place else ""
    best = f"; {value}" if value else ""
    text = (
        f"{subject} matches 0 of {total} devices {where}: `{miss.clause}`{place} is {miss.outcome} on the "
        f"nearest device, {miss.device.name}{best}"
    )
    return text, _fix(miss, value)


def _fix(miss: Miss, value: str) -> str:
    if miss.outcome == "unknown":
        return f"remove the clause, or {GIVE_SLICES}"
    driver = asked(miss.clause).only_driver
    if driver:
        return f"install the driver that publishes {driver}, or select {miss.device.driver}"
    bound = _bound(miss.clause)
    if bound is not None and value:
        amount, way = value.rpartition(" ")[2], "at most" if bound.is_least else "at least"
        return f"ask for {bound.identity} of {way} {amount}, or choose a machine or layout with other devices"
    return _CORRECT


def fix_of(pools: Sequence[PoolFit]) -> str:
    """Return the fix if no pool takes a copy: for the pool where most devices match, and by a value."""
    return max(pools, key=lambda pool: (sum(pool.requests.values()), pool.fix not in ("", _CORRECT))).fix


def reasons_of(pools: Sequence[PoolFit]) -> str:
    """Return why no pool takes a copy; of many pools the first are reported."""
    rest = len(pools) - MOST_POOLS
    reported = [pool.reason for pool in pools[:MOST_POOLS]]
    return "; ".join([*reported, f"and {rest} more pools"] if rest > 0 else reported)


def _bound(clause: str) -> Bound | None:
    bounds = (*asked(clause).bounds, *asked(clause).versions)
    return bounds[0] if len(bounds) == 1 else None


def _amount(miss: Miss, name: str) -> _Ordered | None:
    attributes = cast("Mapping[str, Any]", miss.device.seen.get("attributes", {}))
    for key, entry in attributes.items():
        version = entry.get("version", UNKNOWN)
        if key.rpartition("/")[2] == name and version is not UNKNOWN:
            return _Ordered(semver.parse(version).order, version, "newest", "oldest")
    capacity = cast("Mapping[str, Any]", miss.device.seen.get("capacity", {}))
    for key, entry in capacity.items():
        if key.rpartition("/")[2] == name and entry["value"] is not UNKNOWN:
            return _least(tuple(map(str, entry.get(ONE_OF, (entry["value"],)))))
    return None


@lru_cache(maxsize=1024)
def _least(quantities: tuple[str, ...]) -> _Ordered:
    amount = min(map(Quantity.parse, quantities), key=lambda quantity: quantity.amount)
    return _Ordered((amount.amount,), str(amount), "largest", "smallest")


def _value_read(clause: str, device: NodeDevice) -> str:
    values: dict[str, Any] = {**device.seen.get("attributes", {}), **device.seen.get("capacity", {})}
    asks = asked(clause)
    if asks.only_driver:
        return f"its driver is {device.driver}"
    for key, entry in values.items():
        name = key.rpartition("/")[2]
        if asks.reads(name):
            value = next(iter(entry.values()))
            reported = " or ".join(map(str, entry.get(ONE_OF, (value,))))
            return (
                f"{name} is not known before the device exists"
                if value is UNKNOWN
                else f"{name} is {reported}"
            )
    return ""
