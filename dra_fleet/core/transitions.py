"""Transitions: steps from one version or layout to the next, as facts with a verdict and a source."""

from __future__ import annotations

from typing import Literal

from dra_fleet.core.facts import Entry, read

Verdict = Literal["safe", "manual", "blocked"]
"""`safe`: one deployment, and running pods keep their devices. `manual`: a person must do the steps.
`blocked`: the transition is impossible, or nothing is known about it."""

VERDICTS: tuple[Verdict, ...] = ("safe", "manual", "blocked")
"""The verdicts, the worst one last."""

ANY = "*"
"""Matches every version or layout."""


class Transition(Entry):
    """A documented step.

    Attributes:
        subject: `kubernetes`, `mig`, or the name of a driver or release.
        before: Version or layout before the step; `*` for any.
        after: The same after the step.
        verdict: See `Verdict`.
        steps: What to do, in order.
        reason: Why the step is not safe; "" for a safe one.
    """

    subject: str
    before: str
    after: str
    verdict: Verdict
    steps: tuple[str, ...]
    reason: str = ""

    def leads(self, before: str, after: str) -> bool:
        """Return True if this is the step from one version or layout to another."""
        return self.before in (before, ANY) and self.after in (after, ANY)


def read_transitions(package: str) -> tuple[Transition, ...]:
    """Return the transitions of a package's `transitions.yaml`.

    Args:
        package: Such as `dra_fleet.kubernetes`.

    Raises:
        FileNotFoundError: The package has no such file.
    """
    entries = read(package, "transitions.yaml")["transitions"]
    return tuple(Transition.model_validate(entry) for entry in entries)
