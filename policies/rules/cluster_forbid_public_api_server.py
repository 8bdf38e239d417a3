"""A cluster's API server is not open to every address of the Internet.

It may be reached from listed ranges, from inside its network only, or on GKE by the DNS endpoint, where
Google checks an identity before the API server is reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.clouds import CLUSTERS, declared_by
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find clusters whose API server every address may reach."""
    del settings
    cloud = declared_by(resource.type)
    for fault in cloud.public_addresses(resource) if cloud is not None else ():
        yield Finding(resource, fault.at, fault.problem, fault.allowed, fault.fix)


RULE = ResourceRule(
    name="cluster-forbid-public-api-server",
    description=(
        "API servers are reachable only from listed addresses or private networks, because anyone can "
        "exploit a vulnerability of a public API server."
    ),
    fix="List the address ranges that can reach the API server, or remove its public address.",
    link="https://kubernetes.io/docs/concepts/security/security-checklist/",
    severity="high",
    standard="advisory",
    production="mandatory",
    types=CLUSTERS,
    check=check,
)
