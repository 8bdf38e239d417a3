"""A DRA driver's chart is not installed into the namespace `default`.

The charts refuse it: their plugin is privileged, and everybody who may create pods in `default` could use its
service account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

DEFAULT: Final = "default"


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find releases of a driver that land in `default`."""
    del settings
    installed = release(resource)
    if installed is None or installed.driver is None:
        return
    namespace = installed.namespace
    by_provider = resource.provider_properties.get("namespace")
    if namespace.absent and not by_provider.absent:
        namespace = by_provider
    if namespace.unknown or (namespace.text or DEFAULT) != DEFAULT:
        return
    yield Finding(
        resource,
        namespace,
        f"is {namespace.shown}",
        "a namespace of the driver's own",
        f"install it into the namespace {installed.driver.namespace}",
    )


RULE = ResourceRule(
    name="driver-forbid-default-namespace",
    description=(
        "DRA drivers have their own namespace, because their plugins are privileged and their charts "
        "reject the default namespace."
    ),
    fix="Install the chart into a separate namespace.",
    link="https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    severity="medium",
    types=RELEASE_TYPES,
    check=check,
)
