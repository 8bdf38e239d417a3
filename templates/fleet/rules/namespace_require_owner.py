"""Namespaces name their owner: an example of a rule of your own, beside those of dra-fleet.

`dra-fleet rules test rules` runs its cases. Stack files name this folder, so that it checks every preview.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

LABEL = "dra-fleet/owner"


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find namespaces without the label. One that is unknown at preview is a finding by itself."""
    del settings
    owner = resource.get("metadata", "labels", LABEL)
    if owner.absent:
        yield Finding(resource, owner, "is absent", "the team that owns it", f"add the label {LABEL}")


RULE = ResourceRule(
    name="namespace-require-owner",
    description="Namespaces name their owner, because no one else answers for what runs there.",
    fix=f"Label the namespace with {LABEL}.",
    link="https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/",
    severity="low",
    types=re.compile(r"kubernetes:core/v1:Namespace"),
    check=check,
)
