"""What a stack exports: a versioned contract that other stacks read by StackReference.

`version`      1; a field may be added without a new number, never changed or removed.
`clusters`     by name, plain:
                 cloud, kubernetes   as declared
                 pools               name -> {machine, minNodes, maxNodes}
                 drivers             release name -> {driver, chart, version, namespace}
                 classes             names of the DeviceClasses this stack declares
                 templates, claims   declared name -> {name, namespace}: what a pod refers to. A template's
                                     name changes with its spec unless it is declared external
                 computeDomains      declared name -> {name, namespace, template}: the domain, and the
                                     template of its channels, which the driver makes
                 namespaces          names of the namespaces this stack owns
                 workloads           name -> {namespace, copies}
`kubeconfigs`  secret: cluster -> kubeconfig, for the clusters whose kubeconfig the program holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.plan import ClusterPlan

    from .claim import Claim
    from .claim_template import ClaimTemplate
    from .compute_domain import ComputeDomain

VERSION = 1

Exported = dict[str, Any]
"""A mapping of plain values and Outputs, as it is exported."""


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The exports of one stack."""

    clusters: Mapping[str, Exported]
    kubeconfigs: Mapping[str, pulumi.Output[str]]

    def export(self) -> None:
        """Register the exports with the engine."""
        pulumi.export("version", VERSION)
        pulumi.export("clusters", dict(self.clusters))
        pulumi.export("kubeconfigs", pulumi.Output.secret(dict(self.kubeconfigs)))


def cluster_outputs(
    plan: ClusterPlan,
    templates: Mapping[str, ClaimTemplate],
    claims: Mapping[str, Claim],
    domains: Mapping[str, ComputeDomain],
) -> Exported:
    """One cluster's part of the contract."""
    return {
        "cloud": plan.cloud,
        "kubernetes": plan.kubernetes,
        "pools": {
            pool.name: {
                "machine": pool.machine.name,
                "minNodes": pool.min_nodes,
                "maxNodes": pool.max_nodes,
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


def _reference(consumed: ClaimTemplate | Claim | ComputeDomain) -> Exported:
    return {"name": consumed.metadata["name"], "namespace": consumed.metadata["namespace"]}
