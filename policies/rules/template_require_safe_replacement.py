"""A ResourceClaimTemplate can be replaced.

Its spec is immutable: a changed one needs a new object. Under a fixed name that is possible only after the
old one is deleted; the preview of the change fails with "field is immutable" before that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.claims import TEMPLATE_TYPES
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

VERSIONED: Final = re.compile(r".*-([0-9a-f]{7,}|v\d+)")
"""A name that changes with its content."""


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find templates of a fixed name whose replacement would meet themselves."""
    del settings
    name = resource.get("metadata", "name")
    if resource.delete_before_replace or name.text is None or VERSIONED.fullmatch(name.text):
        return
    yield Finding(
        resource,
        name,
        f"is the fixed name {name.shown}, and the template is not deleted before it is replaced",
        "no name, a name that changes with the content (…-3f9c1a2b, …-v2), or delete before replace",
        'leave the name out, or pass opts=ResourceOptions(replace_on_changes=["spec"], '
        "delete_before_replace=True)",
    )


RULE = ResourceRule(
    name="template-require-safe-replacement",
    description=(
        "ResourceClaimTemplates can be replaced, because their spec is immutable and two objects cannot "
        "have the same name."
    ),
    fix=("Let the engine name the template, add a version to the name, or set delete_before_replace."),
    link="https://www.pulumi.com/docs/iac/concepts/options/deletebeforereplace/",
    severity="medium",
    needs_options=True,
    types=TEMPLATE_TYPES,
    check=check,
)
