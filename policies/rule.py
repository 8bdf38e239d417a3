"""What a rule is: a name, its reason and a judgement of one resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationPolicy

from policies.resource_view import ResourceView

if TYPE_CHECKING:
    from pulumi_policy import ReportViolation, ResourceValidationArgs

Judge = Callable[[ResourceView], Iterable[str]]
"""Gives one message per violation: what was got, what is allowed and the fix."""


@dataclass(frozen=True, kw_only=True)
class ResourceRule:
    """A mandatory rule on single resources.

    Attributes:
        name: `<resource>-<verb>-<object>`; the file has the same words.
        description: what must hold and why, in one sentence.
        fix: what to do about a violation.
        judge: finds the violations.
    """

    name: str
    description: str
    fix: str
    judge: Judge

    def policy(self) -> ResourceValidationPolicy:
        """The rule as the policy SDK takes it."""

        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            for message in self.judge(ResourceView.of(args)):
                report(message, None)

        return ResourceValidationPolicy(
            name=self.name,
            description=self.description,
            remediation_steps=self.fix,
            enforcement_level=EnforcementLevel.MANDATORY,
            validate=validate,
        )
