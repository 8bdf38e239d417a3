"""`ComputeDomain`: pods on several nodes whose GPUs reach each other's memory over NVLink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pulumi
from pulumi_kubernetes.core import v1 as core

from .. import compute_domain
from ..core.identity import logical
from .arguments import checked, label, named, settings_of
from .cluster import cluster_of

if TYPE_CHECKING:
    from .cluster import Cluster


class ComputeDomain(compute_domain.ComputeDomain):
    """A ComputeDomain of NVIDIA's driver. Each pod claims a channel of it beside its GPUs.

    Args:
        name: Name of the domain. The object's name adds a hash of the spec, unless `template` is given.
        cluster: Cluster that has it, with its driver declared.
        namespace: Namespace of the pods that join it, also as an Output.
        channels: IMEX channels of each pod: `Single`, or `All` of its node.
        num_nodes: Number of nodes, if the feature gate IMEXDaemonsWithDNSNames is off.
        template: Exact name of the template that the driver creates, for pods outside the program.
        opts: Resource options.

    Attributes:
        domain_name: The name in the program.
        cluster: The cluster.

    Examples:
        ```python
        domain = dra.ComputeDomain("nvlink", cluster=cluster, namespace="ml", channels="Single")
        ```
    """

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        namespace: pulumi.Input[str],
        channels: Literal["Single", "All"] = "Single",
        num_nodes: int = 0,
        template: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        given = {"channels": channels, "num_nodes": num_nodes, "template": template}
        settings = settings_of(component, given)
        program = cluster.program
        plan = program.add("computeDomains", name, {**settings, "cluster": program.name}, component)
        (planned,) = (item for item in plan.compute_domains if item.name == name)
        args = compute_domain.ComputeDomainArgs(
            name=name,
            namespace=namespace,
            num_nodes=planned.num_nodes,
            allocation_mode=planned.allocation_mode,
            template=planned.template,
            external=planned.external,
            identity=cluster.identity,
        )
        releases = [cluster.releases[release] for release in planned.after if release in cluster.releases]
        self.domain_name, self.cluster = name, cluster
        super().__init__(
            logical(program.name, name),
            args,
            pulumi.ResourceOptions.merge(cluster.member_opts(releases), opts),
        )

    def pod_claim(self, name: str = "channel") -> core.PodResourceClaimArgs:
        """Return the entry of `resource_claims` in the spec of a pod.

        Args:
            name: Name of the claim in the pod.
        """
        name = label(f"ComputeDomain {self.domain_name}", "name", name)
        return core.PodResourceClaimArgs(name=name, resource_claim_template_name=self.template)

    def container_claim(self, name: str = "channel") -> core.ResourceClaimArgs:
        """Return the entry of `resources.claims` in a container.

        Args:
            name: Name of the claim in the pod, as in `pod_claim`.
        """
        return core.ResourceClaimArgs(name=label(f"ComputeDomain {self.domain_name}", "name", name))
