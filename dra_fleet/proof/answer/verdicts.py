"""Results of a proof as plain values: per claim and workload, per pool, and the failures."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct, to_builtins

from dra_fleet.proof.answer.admission import Admission, Judgement  # noqa: TC001 - the schema reads them
from dra_fleet.proof.answer.costs import CopyCost, Waste  # noqa: TC001 - the published schema reads the types
from dra_fleet.proof.report import DoesNotFit


class PoolFit(Struct, frozen=True, kw_only=True, rename="camel"):
    """Fit of a claim on a pool.

    Attributes:
        pool: The pool.
        requests: Per request, or request/alternative, how many devices of a node match for certain.
        devices: How many devices a node has.
        per_node: Copies that an empty node takes; None if unknown.
        at_min: Copies on the pool's least nodes; None if unknown.
        at_max: Copies on its most nodes; None if unknown.
        reason: Why there are none, or what is unknown; empty otherwise.
        fix: What to do about it.
        cost: What one copy requests, gets and strands; None where it gets nothing.
    """

    pool: str
    requests: dict[str, int]
    devices: int
    per_node: int | None
    at_min: int | None
    at_max: int | None
    reason: str = ""
    fix: str = ""
    cost: CopyCost | None = None


class ClassFit(Struct, frozen=True, kw_only=True, rename="camel"):
    """Fit of a class on a pool.

    Attributes:
        pool: The pool.
        matches: How many devices of a node match for certain; None if unknown.
        devices: How many devices a node has.
        reason: Why none matches, or what is unknown; empty otherwise.
        fix: What to do about it.
    """

    pool: str
    matches: int | None
    devices: int
    reason: str = ""
    fix: str = ""


class ClassProof(Struct, frozen=True, kw_only=True, rename="camel"):
    """A class of the stack by itself."""

    cluster: str
    name: str
    pools: tuple[ClassFit, ...]


class ClaimProof(Struct, frozen=True, kw_only=True, rename="camel"):
    """A claim by itself: whether some node gives it what it requests."""

    cluster: str
    name: str
    word: Judgement
    reason: str
    fix: str
    pools: tuple[PoolFit, ...]


class WorkloadProof(Struct, frozen=True, kw_only=True, rename="camel"):
    """A workload among all others of its cluster.

    Attributes:
        cluster: Its cluster.
        name: The workload.
        claim: What each copy holds.
        copies: How many there are.
        word: The verdict with the most nodes.
        at_min: The verdict with the least nodes.
        reason: Why.
        fix: What to do about it, where there is something.
        order: An order of arrival after which a pod waits, for `possible` and `never`.
        accepted: The owner's reason to accept less than `guaranteed`; empty without.
        pools: What each pool gives it when it is alone there.
        admission: What its queue does with it; None without a queue. The verdict is on what runs together.
        gang: Pods that Kubernetes places together or not at all; the verdict is on these. None without one.
        waste: What first fit can strand, and a change that avoids it; None where it strands nothing.
    """

    cluster: str
    name: str
    claim: str
    copies: int
    word: Judgement
    at_min: Judgement
    reason: str
    fix: str
    order: tuple[str, ...]
    accepted: str
    pools: tuple[PoolFit, ...]
    admission: Admission | None = None
    gang: int | None = None
    waste: Waste | None = None

    @property
    def note(self) -> str:
        """The waste as a sentence; empty without waste."""
        waste = self.waste
        return f"cluster {self.cluster}: workload {self.name}: {waste.text}" if waste else ""


class Proof(Struct, frozen=True, kw_only=True):
    """The whole proof.

    Attributes:
        classes: The stack's own classes.
        claims: All claims.
        workloads: All workloads.
        failures: What stops the program, as blocks of text.
        warnings: What does not, as sentences.
        managed: Drivers that clouds run themselves, as sentences.
    """

    classes: tuple[ClassProof, ...]
    claims: tuple[ClaimProof, ...]
    workloads: tuple[WorkloadProof, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    managed: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """True if nothing stops the program."""
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        """Return the proof as JSON, with stable keys."""
        return {
            "fits": self.fits,
            "classes": to_builtins(self.classes),
            "claims": to_builtins(self.claims),
            "workloads": to_builtins(self.workloads),
            "failures": list(self.failures),
            "warnings": list(self.warnings),
            "managed": list(self.managed),
        }

    def headline(self) -> str:
        """Return one line with the number of workloads of each verdict."""
        counts = Counter(item.word for item in self.workloads)
        words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
        return f"proof of workloads: {words}" if counts else "proof of workloads: there are none"

    def require(self) -> None:
        """Stop here unless everything fits.

        Raises:
            DoesNotFit: With all failures.
        """
        if self.failures:
            raise DoesNotFit(self.text())

    @property
    def title(self) -> str:
        """Number of failures, as a title."""
        count = len(self.failures)
        return "the proof failed: 1 error" if count == 1 else f"the proof failed: {count} errors"

    def text(self) -> str:
        """All failures, as one message."""
        return "\n\n".join([self.title, *self.failures])
