"""A whole fleet as one component, for programs that declare it among other resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pulumi

from .clouds import resolve
from .fleet import build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dra_fleet.model.plan import FleetPlan

    from .clouds.platform import Platform, SecretReader


@dataclass(frozen=True, kw_only=True)
class FleetComponentArgs:
    """Arguments of `FleetComponent`.

    Attributes:
        plan: the clusters and what is in them.
        secret: reads a secret, such as a kubeconfig, by the key that the plan names.
        outputs: Outputs of other resources by the references that the plan's settings have for them.
        token: the registered type.
        component: returns the component class of a cloud.
    """

    plan: FleetPlan
    secret: SecretReader
    outputs: Mapping[str, pulumi.Output[str]] = field(default_factory=dict[str, pulumi.Output[str]])
    token: str = "dra-fleet:index:Fleet"  # noqa: S105 - Pulumi's word for a type's name
    component: Callable[[str], type[Platform]] = resolve


class FleetComponent(pulumi.ComponentResource):
    """Clusters, and the classes, claims and workloads in them.

    Attributes:
        clusters: exports of each cluster, by name.
        kubeconfigs: secret kubeconfigs of the clusters that have one.
        platforms: components of the clusters, by name.
    """

    clusters: Mapping[str, Any]
    kubeconfigs: pulumi.Output[Any]

    def __init__(
        self, name: str, args: FleetComponentArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Declare a fleet.

        Args:
            name: the component's.
            args: what it is made of.
            opts: of the component; what is in it waits for what it depends on.

        Raises:
            SettingsInvalid: a secret is missing.
        """
        inputs = {"owner": args.plan.owner, "environment": args.plan.environment}
        super().__init__(args.token, name, inputs, opts)
        # The engine passes a component's dependencies on to no one.
        after = None if opts is None else opts.depends_on
        opts = pulumi.ResourceOptions(parent=self, depends_on=after)
        made = build(args.plan, args.secret, opts, outputs=args.outputs, component=args.component)
        self.clusters = made.clusters
        self.platforms = dict(made.platforms)
        self.kubeconfigs = pulumi.Output.secret(dict(made.kubeconfigs))
        self.register_outputs({"clusters": self.clusters, "kubeconfigs": self.kubeconfigs})
