"""Names the unknown values that stop nothing at preview, so that none passes silently.

These are the values that the policy config accepts by name, and those that their rule checks when they are
known, before the resource is made. It checks nothing itself: the runner of the rules reports under its name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.policy.rule import ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Finding, Settings


def check(resource: Resource, settings: Settings) -> Iterable[Finding]:
    """Find nothing."""
    del resource, settings
    return ()


RULE = ResourceRule(
    name="unknown-report-unjudged",
    description="All values that were unknown at preview are listed, also accepted ones.",
    fix="Use a value that is known at preview, and remove it from acceptUnknown.",
    link="https://www.pulumi.com/docs/iac/concepts/inputs-outputs/",
    severity="low",
    standard="advisory",
    types=re.compile(r"(?!)"),
    check=check,
)
