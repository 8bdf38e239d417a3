"""The claims and templates that pods may refer to: the stack's, and those of the files checked together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dra_fleet.checking.device_objects import requests
from dra_fleet.drivers.nvidia.objects.channel import CHANNEL_REQUEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.checking.inventory import Cluster
    from dra_fleet.checking.resources import Resource
    from dra_fleet.kubernetes.devices.claim import ClaimSpec


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim or template: who made it, where, and what its requests are called."""

    kind: str
    name: str
    namespace: str
    requests: frozenset[str]
    generated: bool = False
    """Whether the stack gives it another name than this."""
    keep: str = ""
    """The setting by which it would have this very name; empty for that of a claim."""


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """Why a reference does not hold."""

    what: str
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class References:
    """All claims and templates that are known."""

    claims: list[Claim] = field(default_factory=list[Claim])

    def names(self, kind: str) -> list[str]:
        """The names that a pod may write, of one kind."""
        return sorted({claim.name for claim in self.claims if claim.kind == kind and not claim.generated})

    def requests(self, name: str) -> frozenset[str] | None:
        """The requests of a claim or template, or None if it is unknown."""
        return next((claim.requests for claim in self.claims if claim.name == name), None)

    def problem(self, kind: str, name: str, namespace: str) -> Wrong | None:
        """What is wrong with a reference from a pod in a namespace; an empty namespace may be any."""
        known = [claim for claim in self.claims if claim.kind == kind and claim.name == name]
        if not known:
            other = next((claim for claim in self.claims if claim.name == name), None)
            if other is not None:
                return Wrong(what=f"is no {kind}; {name} is a {other.kind}")
            return Wrong(what=f"is no {kind} of the stack or of the files checked")
        if all(claim.generated for claim in known):
            return Wrong(
                what="is a template of the stack whose name gets a suffix with every change",
                fix=f"set {known[0].keep or f'claims.{name}.external: true'} in the stack file",
            )
        if namespace and not any(claim.namespace in ("", namespace) for claim in known):
            places = ", ".join(sorted({claim.namespace for claim in known}))
            return Wrong(
                what=f"is in namespace {places}; a pod in {namespace} cannot use it",
                fix=f"namespace: {places}",
            )
        return None


def references(clusters: Iterable[Cluster], resources: Iterable[Resource]) -> References:
    """The claims of the stack and of the files."""
    found: list[Claim] = []
    for cluster in clusters:
        found += [
            Claim(
                kind="ResourceClaimTemplate",
                name=template.name,
                namespace=template.namespace,
                requests=_names(template.spec),
                generated=not template.external,
            )
            for template in cluster.plan.templates
        ]
        found += [
            Claim(
                kind="ResourceClaimTemplate",
                name=domain.template,
                namespace=domain.namespace,
                requests=frozenset({CHANNEL_REQUEST}),
                generated=not domain.external,
                keep=f"computeDomains.{domain.name}.template: {domain.template}",
            )
            for domain in cluster.plan.compute_domains
        ]
        found += [
            Claim(
                kind="ResourceClaim",
                name=claim.name,
                namespace=claim.namespace,
                requests=_names(claim.spec),
            )
            for claim in cluster.plan.claims
        ]
    found += [
        Claim(
            kind=resource.kind,
            name=resource.name,
            namespace=resource.namespace,
            requests=frozenset(request.name for request in requests(resource)),
        )
        for resource in resources
        if resource.kind in ("ResourceClaim", "ResourceClaimTemplate")
    ]
    return References(claims=found)


def _names(spec: ClaimSpec) -> frozenset[str]:
    return frozenset(request.name for request in spec.devices.requests)
