"""`Demand` and `prove`: pods that others create, counted by the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pulumi_kubernetes.core import v1 as core

from .arguments import checked, named, plain, refused, settings_of
from .claims import ResourceClaim, ResourceClaimTemplate
from .cluster import Cluster, cluster_of
from .compute_domain import ComputeDomain
from .queue import Queue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")


class Demand:
    """Pods that use a claim template, or share a claim, at the same time. They are proved and not created.

    The proof of the whole cluster counts all demand when the program ends.

    Args:
        template: The claim template, or the shared claim.
        replicas: Number of pods that run at the same time.
        name: Name in messages. Default: the template's name.
        node_selector: The pods' node selector.
        tolerations: The pods' tolerations. Default: none, as in Kubernetes; see `cluster.tolerations()`.
        cpu: CPU request of each pod.
        memory: Memory request of each pod.
        compute_domain: ComputeDomain that each pod joins.
        queue: Queue that starts all pods or none.
        gang: `native` if the pods are in a PodGroup of Kubernetes' own gang scheduling.
        min_count: Number of pods that the gang needs to start. Default: all replicas.
        accept: Reasons to accept less than certainty in production, such as `{"order": "jobs can wait"}`.

    Examples:
        ```python
        dra.Demand(single, replicas=8, tolerations=cluster.tolerations())
        ```
    """

    @checked
    def __init__(
        self,
        template: ResourceClaimTemplate | ResourceClaim,
        *,
        replicas: int,
        name: str | None = None,
        node_selector: Mapping[str, str] | None = None,
        tolerations: Sequence[core.TolerationArgs | Mapping[str, Any]] = (),
        cpu: str | None = None,
        memory: str | None = None,
        compute_domain: ComputeDomain | None = None,
        queue: Queue | None = None,
        gang: Literal["native"] | None = None,
        min_count: int | None = None,
        accept: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(template, ResourceClaimTemplate | ResourceClaim):  # pyright: ignore[reportUnnecessaryIsInstance] - checked for programs without types
            raise refused(
                "Demand",
                "template",
                "must be a ResourceClaimTemplate or a ResourceClaim of dra_fleet",
                got=type(template).__name__,
            )
        self.name = template.claim_name if name is None else name
        component = named(self, self.name)
        program = template.cluster.program
        settings: dict[str, Any] = {
            "cluster": program.name,
            "claim": template.claim_name,
            "copies": plain(component, "replicas", replicas),
            "tolerations": _tolerations(component, tolerations),
        }
        others = {
            "node_selector": node_selector,
            "cpu": cpu,
            "memory": memory,
            "accept": accept,
            "gang": gang,
            "min_count": min_count,
        }
        settings |= settings_of(component, others)
        claim = template.claim_name
        needs = {"claims": {claim}, "classes": program.classes_of(program.declared["claims"][claim])}
        if compute_domain is not None:
            domain = _instance(component, "compute_domain", compute_domain, ComputeDomain).domain_name
            settings["computeDomain"] = domain
            needs["computeDomains"] = {domain}
        if queue is not None:
            settings["queue"] = _instance(component, "queue", queue, Queue).queue_name
            needs |= {"clusterQueues": {queue.queue_name}, "classes": set(program.declared["classes"])}
        program.add("demand", self.name, settings, component, needs=needs)


def _instance(component: str, argument: str, value: object, kind: type[T]) -> T:
    """Return an argument that must be another component.

    Raises:
        pulumi.RunError: It is another object.
    """
    if isinstance(value, kind):
        return value
    raise refused(component, argument, f"must be a {kind.__name__} of dra_fleet", got=type(value).__name__)


def _tolerations(component: str, tolerations: object) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(tolerations, list | tuple):
        raise refused(
            component,
            "tolerations",
            "must be a list",
            got=type(tolerations).__name__,
            allowed="cluster.tolerations(), or dicts with key, operator, value and effect",
        )
    items = cast("Sequence[core.TolerationArgs | Mapping[str, Any]]", tolerations)
    return plain(component, "tolerations", [_toleration(item) for item in items])


def _toleration(toleration: core.TolerationArgs | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(toleration, core.TolerationArgs):
        return toleration
    fields = {key: getattr(toleration, key) for key in ("key", "operator", "value", "effect")}
    return {key: value for key, value in fields.items() if value is not None}


def prove(*clusters: Cluster) -> None:
    """Prove clusters with everything that the program has declared in them so far.

    A program that runs to its end is proved without this call.

    Args:
        *clusters: Cluster components.

    Raises:
        pulumi.RunError: A claim or a demand does not fit.
    """
    if not clusters:
        raise refused("prove", "", "takes at least one cluster")
    for cluster in clusters:
        cluster_of("prove", cluster).program.require()
