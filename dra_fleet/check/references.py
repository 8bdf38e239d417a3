"""The claims and templates that pods may refer to: the stack's, and those of the files checked together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dra_fleet.check.device_objects import all_expressions, class_name, requests
from dra_fleet.check.resources import keyed
from dra_fleet.kubernetes.cel import asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.resources import FileObject, Key
    from dra_fleet.kubernetes.devices.claim import ClaimSpec


@dataclass(frozen=True, kw_only=True)
class KnownClaim:
    """A claim or template: who made it, where, and what its requests are called."""

    kind: str
    name: str
    namespace: str
    requests: frozenset[str]
    drivers: frozenset[str] | None = None
    """The drivers that its classes ask for; None where that is not known."""
    generated: bool = False
    """True if the stack changes the name."""
    keep: str = ""
    """The setting by which it would have this very name; empty for that of a claim."""


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """Reason why a reference is wrong."""

    what: str
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class References:
    """All claims and templates that are known."""

    claims: list[KnownClaim] = field(default_factory=list[KnownClaim])

    def names(self, kind: str) -> list[str]:
        """Return the names of one kind that a pod may write."""
        return sorted({claim.name for claim in self.claims if claim.kind == kind and not claim.generated})

    def of(self, key: Key) -> KnownClaim | None:
        """Return the claim or template that a pod refers to; None if unknown."""
        return keyed(self._by_key, key)

    @cached_property
    def _by_key(self) -> dict[Key, KnownClaim]:
        return {(claim.kind, claim.namespace, claim.name): claim for claim in self.claims}

    def problem(self, kind: str, name: str, namespace: str) -> Wrong | None:
        """Return the problem of a reference from a pod in a namespace; an empty namespace may be any."""
        known = [claim for claim in self.claims if claim.kind == kind and claim.name == name]
        if not known:
            other = next((claim for claim in self.claims if claim.name == name), None)
            if other is not None:
                return Wrong(what=f"is not a {kind}; {name} is a {other.kind}")
            return Wrong(what=f"is not a {kind} of the stack or of the files checked")
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


def references(
    clusters: Iterable[ClusterInventory],
    resources: Iterable[FileObject],
    classes: Mapping[str, Sequence[str]],
) -> References:
    """Collect the claims of the stack and of the files; `classes` are the expressions of all classes."""
    found: list[KnownClaim] = []
    for cluster in clusters:
        found += [
            KnownClaim(
                kind="ResourceClaimTemplate",
                name=template.name,
                namespace=template.namespace,
                requests=_names(template.spec),
                drivers=_drivers_of_spec(template.spec, classes),
                generated=not template.external,
            )
            for template in cluster.plan.templates
        ]
        found += [
            KnownClaim(
                kind="ResourceClaimTemplate",
                name=domain.template,
                namespace=domain.namespace,
                requests=frozenset({domain.channel_request}),
                drivers=_drivers([domain.channel_class], (), classes),
                generated=not domain.external,
                keep=f"computeDomains.{domain.name}.template: {domain.template}",
            )
            for domain in cluster.plan.compute_domains
        ]
        found += [
            KnownClaim(
                kind="ResourceClaim",
                name=claim.name,
                namespace=claim.namespace,
                requests=_names(claim.spec),
                drivers=_drivers_of_spec(claim.spec, classes),
            )
            for claim in cluster.plan.claims
        ]
    found += [
        KnownClaim(
            kind=resource.kind,
            name=resource.name,
            namespace=resource.namespace,
            requests=frozenset(request.name for request in requests(resource)),
            drivers=_drivers(map(class_name, requests(resource)), all_expressions(resource), classes),
        )
        for resource in resources
        if resource.kind in ("ResourceClaim", "ResourceClaimTemplate")
    ]
    return References(claims=found)


def _drivers_of_spec(spec: ClaimSpec, classes: Mapping[str, Sequence[str]]) -> frozenset[str] | None:
    asks = [
        part
        for request in spec.devices.requests
        for part in (request.exactly, *(request.first_available or ()))
    ]
    return _drivers([part.device_class_name for part in asks if part is not None], (), classes)


def _drivers(
    names: Iterable[str], texts: Iterable[str], classes: Mapping[str, Sequence[str]]
) -> frozenset[str] | None:
    """Return the drivers that classes and expressions name; None if a class is unknown or names none."""
    found = {name for text in texts for name in asked(text).drivers}
    for name in names:
        of_class = {driver for text in classes.get(name, ()) for driver in asked(text).drivers}
        if not of_class:
            return None
        found |= of_class
    return frozenset(found)


def _names(spec: ClaimSpec) -> frozenset[str]:
    return frozenset(request.name for request in spec.devices.requests)
