"""A plan becomes resources, each after what it names and what serves it; destroy runs it backwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pulumi

from dra_fleet.fleet.queueing.kueue import FLAVOR
from dra_fleet.kubernetes.minors import kubernetes_facts

from .claim import Claim, ClaimArgs, ClaimTemplate, ClaimTemplateArgs, DeviceClass, DeviceClassArgs
from .clouds import resolve
from .clouds.logins import Logins
from .clouds.platform import ClusterArgs
from .compute_domain import ComputeDomain
from .core.identity import Identity, logical
from .namespace import Namespace, NamespaceArgs
from .queue import (
    ClusterQueue,
    ClusterQueueArgs,
    LocalQueue,
    LocalQueueArgs,
    ResourceFlavor,
    ResourceFlavorArgs,
)
from .release import DriverRelease, DriverReleaseArgs
from .workload import Gang, GangArgs, WorkloadJob, WorkloadJobArgs, declare_gang, workload_deployment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.model.plan import (
        ClaimPlan,
        ClaimTemplatePlan,
        ClusterPlan,
        ComputeDomainPlan,
        FleetPlan,
        PoolPlan,
        QueuePlan,
        WorkloadPlan,
    )
    from dra_fleet.model.workloads import WorkloadSettings

    from .clouds.platform import Platform, SecretReader


# Outputs of a stack: a versioned contract that other stacks read by StackReference.
#
# `version`      1; a field may be added without a new number, never changed or removed.
# `clusters`     by name, plain:
#                  cloud, kubernetes   as declared
#                  pools               name -> {machine, minNodes, maxNodes}
#                  drivers             release name -> {driver, chart, version, namespace}
#                  classes             names of the DeviceClasses this stack declares
#                  templates, claims   declared name -> {name, namespace}: what a pod refers to. A template's
#                                      name changes with its spec unless it is declared external
#                  computeDomains      declared name -> {name, namespace, template}: the domain, and the
#                                      template of its channels, which the driver makes
#                  namespaces          names of the namespaces this stack owns
#                  workloads           name -> {namespace, copies}
# `kubeconfigs`  secret: cluster -> kubeconfig, for the clusters whose kubeconfig the program holds.

VERSION = 1

Exported = dict[str, Any]
"""A mapping of plain values and Outputs, as it is exported."""


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The exports of one stack, and the clusters by name."""

    clusters: Mapping[str, Exported]
    kubeconfigs: Mapping[str, pulumi.Output[str]]
    platforms: Mapping[str, Platform]

    def export(self) -> None:
        """Register the exports with the engine."""
        pulumi.export("version", VERSION)
        pulumi.export("clusters", dict(self.clusters))
        pulumi.export("kubeconfigs", pulumi.Output.secret(dict(self.kubeconfigs)))


PROTECTED = "production"
"""The environment whose clusters refuse to be destroyed."""


def build(
    plan: FleetPlan,
    secret: SecretReader,
    opts: pulumi.ResourceOptions | None = None,
    *,
    hooks: pulumi.ResourceHookBinding | None = None,
    job_hooks: pulumi.ResourceHookBinding | None = None,
    outputs: Mapping[str, pulumi.Output[str]] = MappingProxyType({}),
    component: Callable[[str], type[Platform]] = resolve,
) -> Outputs:
    """Declare everything the plan requests.

    Args:
        plan: the whole stack.
        secret: reads a secret configuration value by its key. All are read before the first resource is made.
        opts: the clusters' parent, and what they come after; the stack and nothing unless given.
        hooks: of the drivers' releases.
        job_hooks: of the workloads that are Jobs.
        outputs: Outputs of this program by the references that the settings have for them.
        component: returns the component class of a cloud.

    Raises:
        SettingsInvalid: a secret is missing; nothing has been declared.
    """
    identity = Identity(owner=plan.owner)
    protected = plan.environment == PROTECTED
    protection = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(protect=protected))
    logins = Logins()
    for cluster in plan.clusters:
        resolve(cluster.cloud).check_additions(cluster)
    declarations = [
        component(cluster.cloud).planned(ClusterArgs(plan=cluster, logins=logins, outputs=outputs), secret)
        for cluster in plan.clusters
    ]
    clusters: dict[str, Exported] = {}
    platforms: dict[str, Platform] = {}
    kubeconfigs: dict[str, pulumi.Output[str]] = {}
    try:
        for cluster, declare in zip(plan.clusters, declarations, strict=True):
            platform = platforms[cluster.name] = declare(protection)
            clusters[cluster.name] = _fill(platform, cluster, identity, hooks, job_hooks)
            if protected:
                _protect(platform, cluster.name, opts)
            if platform.kubeconfig is not None:
                kubeconfigs[cluster.name] = platform.kubeconfig
    finally:
        logins.close()  # what waits for it would wait for ever
    return Outputs(clusters=clusters, kubeconfigs=kubeconfigs, platforms=platforms)


def _protect(platform: Platform, name: str, opts: pulumi.ResourceOptions | None) -> None:
    """Declare a protected component that the engine deletes before everything in a cluster.

    The engine refuses the protected cluster only after the deletion of its pods, templates and drivers. If
    these were protected, the engine would refuse to replace a Job or a template.
    """
    own = pulumi.ResourceOptions(depends_on=[platform], protect=True)
    pulumi.ComponentResource(
        "dra-fleet:index:Protection", name, None, pulumi.ResourceOptions.merge(opts, own)
    ).register_outputs({})


def _fill(
    platform: Platform,
    plan: ClusterPlan,
    identity: Identity,
    hooks: pulumi.ResourceHookBinding | None,
    job_hooks: pulumi.ResourceHookBinding | None,
) -> Exported:
    """Put into a cluster what it is planned to hold: each part after those that it names or needs."""
    namespaces = platform.namespaces = _namespaces(platform, plan, identity)
    releases = _releases(platform, plan, namespaces, pulumi.ResourceOptions(hooks=hooks))
    platform.releases = releases
    platform.create_pools(plan, releases, identity.owner)
    classes = _classes(platform, plan, identity)
    there = _There(namespaces=namespaces, releases=releases, classes=classes)
    templates = _templates(platform, plan, identity, there)
    claims = _claims(platform, plan, identity, there)
    domains = _domains(platform, plan, identity, there)
    queues = _queues(platform, plan, identity, there)
    for workload in plan.workloads:
        if workload.runs is None:
            continue
        named = (
            templates.get(workload.template or ""),
            claims.get(workload.claim or ""),
            domains.get(workload.compute_domain or ""),
            queues.get(workload.queue or ""),
        )
        opts = platform.member_opts(
            [*platform.installers, *there.needed(workload), *(item for item in named if item is not None)]
        )
        name = logical(plan.name, workload.name)
        gang = _gang(name, plan.kubernetes, workload, identity, platform.member_opts(there.needed(workload)))
        args = replace(
            _workload_args(workload, identity, templates, claims, domains, runs=workload.runs), gang=gang
        )
        if workload.runs.kind == "Job":
            hooked = pulumi.ResourceOptions(hooks=job_hooks)
            WorkloadJob(name, args, pulumi.ResourceOptions.merge(opts, hooked))
        else:
            workload_deployment(name, args, opts)
    return cluster_outputs(plan, templates, claims, domains)


@dataclass(frozen=True, kw_only=True)
class _There:
    """Resources of a cluster for its claims and workloads, each by its name."""

    namespaces: Mapping[str, Namespace]
    releases: Mapping[str, DriverRelease]
    classes: Mapping[str, DeviceClass]

    def needed(
        self,
        plan: ClaimTemplatePlan | ClaimPlan | ComputeDomainPlan | QueuePlan | WorkloadPlan,
        classes: Sequence[str] = (),
    ) -> list[pulumi.Resource]:
        """Return the resources that a part depends on; namespaces and classes may be third-party."""
        found = [self.namespaces.get(plan.namespace), *(self.classes.get(name) for name in classes)]
        return [*(item for item in found if item is not None), *(self.releases[name] for name in plan.after)]


def _namespaces(platform: Platform, plan: ClusterPlan, identity: Identity) -> dict[str, Namespace]:
    return {
        namespace.name: Namespace(
            logical(plan.name, namespace.name),
            NamespaceArgs(name=namespace.name, labels=namespace.labels, identity=identity),
            platform.member_opts(),
        )
        for namespace in plan.namespaces
    }


def _releases(
    platform: Platform, plan: ClusterPlan, namespaces: Mapping[str, Namespace], hooks: pulumi.ResourceOptions
) -> dict[str, DriverRelease]:
    made: dict[str, DriverRelease] = {}
    for release in plan.releases:
        args = DriverReleaseArgs(
            release=release.name,
            chart=release.chart,
            version=release.version,
            repository=release.repository,
            namespace=release.namespace,
            values=release.values,
        )
        home = namespaces.get(release.namespace)
        earlier = [*platform.installers, *(made[name] for name in release.after)]
        made[release.name] = DriverRelease(
            logical(plan.name, release.name),
            args,
            pulumi.ResourceOptions.merge(
                platform.member_opts(earlier if home is None else [home, *earlier]), hooks
            ),
        )
    return made


def _classes(platform: Platform, plan: ClusterPlan, identity: Identity) -> dict[str, DeviceClass]:
    return {
        device_class.name: DeviceClass(
            logical(plan.name, device_class.name),
            DeviceClassArgs(name=device_class.name, spec=device_class.spec, identity=identity),
            platform.member_opts(),
        )
        for device_class in plan.classes
    }


def _templates(
    platform: Platform, plan: ClusterPlan, identity: Identity, there: _There
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
            platform.member_opts(there.needed(template, template.spec.classes())),
        )
        for template in plan.templates
    }


def _claims(platform: Platform, plan: ClusterPlan, identity: Identity, there: _There) -> dict[str, Claim]:
    return {
        claim.name: Claim(
            logical(plan.name, claim.name),
            ClaimArgs(name=claim.name, namespace=claim.namespace, spec=claim.spec, identity=identity),
            platform.member_opts(there.needed(claim, claim.spec.classes())),
        )
        for claim in plan.claims
    }


def _domains(
    platform: Platform, plan: ClusterPlan, identity: Identity, there: _There
) -> dict[str, ComputeDomain]:
    return {
        domain.name: ComputeDomain.planned(
            logical(plan.name, domain.name), domain, identity, platform.member_opts(there.needed(domain))
        )
        for domain in plan.compute_domains
    }


def _queues(
    platform: Platform, plan: ClusterPlan, identity: Identity, there: _There
) -> dict[str, LocalQueue]:
    if not plan.queues:
        return {}
    kueue = [there.releases[name] for name in plan.queues[0].after]
    flavor = platform.shared[FLAVOR] = ResourceFlavor(
        logical(plan.name, FLAVOR),
        ResourceFlavorArgs(name=FLAVOR, identity=identity),
        platform.member_opts(kueue),
    )
    made: dict[str, LocalQueue] = {}
    for queue in plan.queues:
        name = logical(plan.name, queue.name)
        quotas = ClusterQueue(
            name,
            ClusterQueueArgs(
                name=queue.name,
                namespace=queue.namespace,
                flavor=FLAVOR,
                quotas=queue.quotas,
                identity=identity,
                cohort=queue.cohort,
                borrowing=queue.borrowing,
                reclaims=queue.reclaims,
            ),
            platform.member_opts([flavor, *kueue]),
        )
        made[queue.name] = LocalQueue(
            name,
            LocalQueueArgs(name=queue.name, namespace=queue.namespace, identity=identity),
            platform.member_opts([quotas, *there.needed(queue)]),
        )
    return made


def _workload_args(
    plan: WorkloadPlan,
    identity: Identity,
    templates: Mapping[str, ClaimTemplate],
    claims: Mapping[str, Claim],
    domains: Mapping[str, ComputeDomain],
    *,
    runs: WorkloadSettings,
) -> WorkloadJobArgs:
    return WorkloadJobArgs(
        name=plan.name,
        namespace=plan.namespace,
        template=None if plan.template is None else templates[plan.template].metadata.name,
        claim=None if plan.claim is None else claims[plan.claim].metadata.name,
        channel=None if plan.compute_domain is None else domains[plan.compute_domain].template,
        fabric_label="" if plan.compute_domain is None else domains[plan.compute_domain].fabric_label,
        copies=plan.copies,
        runs=runs,
        identity=identity,
        node_selector=plan.node_selector,
        tolerations=plan.tolerations,
        queue=plan.queue,
    )


def _gang(
    name: str, minor: str, plan: WorkloadPlan, identity: Identity, opts: pulumi.ResourceOptions
) -> Gang | None:
    gangs = kubernetes_facts().gang(minor)
    if not plan.gang or gangs is None:
        return None
    args = GangArgs(name=plan.name, namespace=plan.namespace, min_count=plan.gang, identity=identity)
    return declare_gang(gangs.api, name, args, opts)


def cluster_outputs(
    plan: ClusterPlan,
    templates: Mapping[str, ClaimTemplate],
    claims: Mapping[str, Claim],
    domains: Mapping[str, ComputeDomain],
) -> Exported:
    """Return one cluster's part of the exports."""
    return {
        "cloud": plan.cloud,
        "kubernetes": plan.kubernetes,
        "pools": {
            pool.name: {
                "machine": pool.machine.name,
                "minNodes": pool.min_nodes,
                "maxNodes": pool.max_nodes,
                **_managed(pool),
            }
            for pool in plan.pools
        },
        "drivers": {
            release.name: {
                "driver": release.driver,
                "chart": release.chart,
                "version": release.version,
                "namespace": release.namespace,
            }
            for release in plan.releases
        },
        "classes": [device_class.name for device_class in plan.classes],
        "templates": {name: _reference(template) for name, template in templates.items()},
        "claims": {name: _reference(claim) for name, claim in claims.items()},
        "computeDomains": {
            name: {**_reference(domain), "template": domain.template} for name, domain in domains.items()
        },
        "namespaces": [namespace.name for namespace in plan.namespaces],
        "workloads": {
            workload.name: {"namespace": workload.namespace, "copies": workload.copies}
            for workload in plan.workloads
        },
    }


def _managed(pool: PoolPlan) -> Exported:
    managed = {item.driver: {"by": item.by, "version": item.version} for item in pool.managed_drivers}
    return {"managedDrivers": managed} if managed else {}


def _reference(consumed: ClaimTemplate | Claim | ComputeDomain) -> Exported:
    return {"name": consumed.metadata["name"], "namespace": consumed.metadata["namespace"]}
