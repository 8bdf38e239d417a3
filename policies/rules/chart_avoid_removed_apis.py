"""Charts of DRA drivers need no API that a later Kubernetes version removes.

An upgrade of the cluster stops such a driver: its devices are then no longer allocated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, RENDERED_TYPES, release, rendered
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find charts whose driver needs an API that a known or planned Kubernetes version removes."""
    del settings
    installed = release(resource) or rendered(resource)
    version = None if installed is None else installed.known_version
    if installed is None or version is None:
        return
    facts = kubernetes_facts()
    for change in facts.changes:
        if change.removes and change.removes in version.needs_apis:
            remover = f"Kubernetes {facts.dated(change.minor)}"
            yield Finding(
                resource,
                installed.chart,
                f"{version.version} needs {change.removes}, which {remover} removes",
                "a version that needs resource.k8s.io/v1 only",
                change.fix,
            )


RULE = ResourceRule(
    name="chart-avoid-removed-apis",
    description=(
        "Charts of DRA drivers need no API that a later Kubernetes version removes, because an upgrade of "
        "the cluster stops the driver."
    ),
    fix="Use a version of the driver without the API, or stay on a Kubernetes version that serves it.",
    link="https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
    severity="medium",
    standard="advisory",
    types=re.compile(f"{INSTALLED_TYPES.pattern}|{RENDERED_TYPES.pattern}"),
    check=check,
)
