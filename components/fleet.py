"""A plan becomes components, in the order in which one needs the other; destroy runs it backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from .claim import Claim, ClaimArgs
from .claim_template import ClaimTemplate, ClaimTemplateArgs
from .clouds import resolve
from .core.identity import Identity
from .core.naming import logical
from .device_class import DeviceClass, DeviceClassArgs
from .drivers import domain_of
from .namespace import Namespace, NamespaceArgs
from .outputs import Outputs, cluster_outputs
from .release import DriverRelease, DriverReleaseArgs
from .workload import Workload, WorkloadArgs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.plan import ClusterPlan, FleetPlan, WorkloadPlan

    from .clouds.platform import Platform, SecretReader
    from .drivers.domain import Domain
    from .outputs import Exported

PROTECTED = "production"
"""The environment whose clusters refuse to be destroyed."""


def build(plan: FleetPlan, secret: SecretReader) -> Outputs:
    """Declare everything the plan asks for.

    Args:
        plan: the whole stack.
        secret: reads a secret configuration value by its key. All are read before the first resource is made.

    Raises:
        SettingsInvalid: a secret is missing; nothing has been declared.
    """
    identity = Identity(owner=plan.owner)
    protection = pulumi.ResourceOptions(protect=plan.environment == PROTECTED)
    declarations = [resolve(cluster.cloud).planned(cluster, secret) for cluster in plan.clusters]
    clusters: dict[str, Exported] = {}
    kubeconfigs: dict[str, pulumi.Output[str]] = {}
    for cluster, declare in zip(plan.clusters, declarations, strict=True):
        platform = declare(protection)
        clusters[cluster.name] = _fill(platform, cluster, identity)
        if platform.kubeconfig is not None:
            kubeconfigs[cluster.name] = platform.kubeconfig
    return Outputs(clusters=clusters, kubeconfigs=kubeconfigs)


def _fill(platform: Platform, plan: ClusterPlan, identity: Identity) -> Exported:
    """Put into a cluster what it is planned to hold: drivers first, for their charts may own classes."""
    namespaces = _namespaces(platform, plan, identity)
    drivers = _drivers(platform, plan, namespaces)
    classes = _classes(platform, plan, identity, [*namespaces, *drivers])
    ready = [*namespaces, *drivers, *classes]
    templates = _templates(platform, plan, identity, ready)
    claims = _claims(platform, plan, identity, ready)
    domains = _domains(platform, plan, identity, ready)
    for workload in plan.workloads:
        Workload(
            logical(plan.name, workload.name),
            _workload_args(workload, identity, templates, claims, domains),
            platform.member_opts([*ready, *templates.values(), *claims.values(), *domains.values()]),
        )
    return cluster_outputs(plan, templates, claims, domains)


def _namespaces(platform: Platform, plan: ClusterPlan, identity: Identity) -> list[Namespace]:
    return [
        Namespace(
            logical(plan.name, namespace.name),
            NamespaceArgs(name=namespace.name, labels=namespace.labels, identity=identity),
            platform.member_opts(),
        )
        for namespace in plan.namespaces
    ]


def _drivers(platform: Platform, plan: ClusterPlan, after: Sequence[pulumi.Resource]) -> list[DriverRelease]:
    made: dict[str, DriverRelease] = {}
    for release in plan.releases:
        args = DriverReleaseArgs(
            release=release.name,
            driver=release.driver,
            chart=release.chart,
            version=release.version,
            repository=release.repository,
            namespace=release.namespace,
            values=release.values,
        )
        earlier = [made[name] for name in release.after]
        made[release.name] = DriverRelease(
            logical(plan.name, release.name), args, platform.member_opts([*after, *earlier])
        )
    return list(made.values())


def _classes(
    platform: Platform, plan: ClusterPlan, identity: Identity, after: Sequence[pulumi.Resource]
) -> list[DeviceClass]:
    return [
        DeviceClass(
            logical(plan.name, device_class.name),
            DeviceClassArgs(name=device_class.name, spec=device_class.spec, identity=identity),
            platform.member_opts(after),
        )
        for device_class in plan.classes
    ]


def _templates(
    platform: Platform, plan: ClusterPlan, identity: Identity, after: Sequence[pulumi.Resource]
) -> dict[str, ClaimTemplate]:
    return {
        template.name: ClaimTemplate(
            logical(plan.name, template.name),
            ClaimTemplateArgs(
                name=template.name,
                namespace=template.namespace,
                spec=template.spec,
                external=template.external,
                identity=identity,
            ),
            platform.member_opts(after),
        )
        for template in plan.templates
    }


def _claims(
    platform: Platform, plan: ClusterPlan, identity: Identity, after: Sequence[pulumi.Resource]
) -> dict[str, Claim]:
    return {
        claim.name: Claim(
            logical(plan.name, claim.name),
            ClaimArgs(name=claim.name, namespace=claim.namespace, spec=claim.spec, identity=identity),
            platform.member_opts(after),
        )
        for claim in plan.claims
    }


def _domains(
    platform: Platform, plan: ClusterPlan, identity: Identity, after: Sequence[pulumi.Resource]
) -> dict[str, Domain]:
    return {
        domain.name: domain_of(domain.driver).planned(
            logical(plan.name, domain.name), domain, identity, platform.member_opts(after)
        )
        for domain in plan.compute_domains
    }


def _workload_args(
    plan: WorkloadPlan,
    identity: Identity,
    templates: Mapping[str, ClaimTemplate],
    claims: Mapping[str, Claim],
    domains: Mapping[str, Domain],
) -> WorkloadArgs:
    return WorkloadArgs(
        name=plan.name,
        namespace=plan.namespace,
        template=None if plan.template is None else templates[plan.template].name,
        claim=None if plan.claim is None else claims[plan.claim].name,
        channel=None if plan.compute_domain is None else domains[plan.compute_domain].template,
        fabric_label="" if plan.compute_domain is None else domains[plan.compute_domain].fabric_label(),
        copies=plan.copies,
        image=plan.image,
        command=plan.command,
        cpu=plan.cpu,
        memory=plan.memory,
        identity=identity,
        node_selector=plan.node_selector,
        tolerations=plan.tolerations,
    )
