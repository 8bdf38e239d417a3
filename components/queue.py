"""A queue: a ClusterQueue with a team's quotas, and the LocalQueue by which workloads name it.

Source: https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/apis/kueue/v1beta2/clusterqueue_types.go
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.fleet.queueing.kueue import API

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    import pulumi

    from .core.identity import Identity


@dataclass(frozen=True, kw_only=True)
class ResourceFlavorArgs:
    """Arguments of `ResourceFlavor`.

    Attributes:
        name: its exact name, that quotas use.
        identity: its owner.
    """

    name: str
    identity: Identity


class ResourceFlavor(CustomResource):
    """A flavor of quotas that binds workloads to no nodes."""

    metadata: pulumi.Output[Mapping[str, Any]]

    def __init__(
        self, name: str, args: ResourceFlavorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            api_version=API,
            kind="ResourceFlavor",
            metadata=meta.ObjectMetaArgs(name=args.name, labels=args.identity.labels()),
            opts=opts,
        )


@dataclass(frozen=True, kw_only=True)
class ClusterQueueArgs:
    """Arguments of `ClusterQueue`.

    Attributes:
        name: its exact name, which users and other stacks use.
        namespace: namespace of the workloads that it admits.
        flavor: the ResourceFlavor of its quotas.
        quotas: numbers of its devices, by the name in a mapping.
        identity: its owner.
        cohort: queues of one cohort lend each other what they do not use.
        borrowing: maximum number that it may borrow; by default all.
        reclaims: `Any` stops workloads that borrow its devices when it needs them.
    """

    name: str
    namespace: str
    flavor: str
    quotas: Mapping[str, int]
    identity: Identity
    cohort: str | None = None
    borrowing: Mapping[str, int] = field(default_factory=dict[str, int])
    reclaims: Literal["Never", "Any"] = "Never"


class ClusterQueue(CustomResource):
    """A ClusterQueue, updated in place."""

    metadata: pulumi.Output[Mapping[str, Any]]

    def __init__(self, name: str, args: ClusterQueueArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            api_version=API,
            kind="ClusterQueue",
            metadata=meta.ObjectMetaArgs(name=args.name, labels=args.identity.labels()),
            spec=_spec(args),
            opts=opts,
        )


@dataclass(frozen=True, kw_only=True)
class LocalQueueArgs:
    """Arguments of `LocalQueue`.

    Attributes:
        name: its name, and its ClusterQueue's.
        namespace: namespace of the workloads that may name it.
        identity: its owner.
    """

    name: str
    namespace: pulumi.Input[str]
    identity: Identity


class LocalQueue(CustomResource):
    """A LocalQueue: a ClusterQueue's name in a namespace."""

    metadata: pulumi.Output[Mapping[str, Any]]

    def __init__(self, name: str, args: LocalQueueArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            api_version=API,
            kind="LocalQueue",
            metadata=meta.ObjectMetaArgs(
                name=args.name, namespace=args.namespace, labels=args.identity.labels()
            ),
            spec={"clusterQueue": args.name},
            opts=opts,
        )


def _spec(args: ClusterQueueArgs) -> dict[str, Any]:
    quotas = [_quota(name, count, args.borrowing.get(name)) for name, count in sorted(args.quotas.items())]
    spec: dict[str, Any] = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": args.namespace}},
        "resourceGroups": [
            {"coveredResources": sorted(args.quotas), "flavors": [{"name": args.flavor, "resources": quotas}]}
        ],
        "preemption": {"reclaimWithinCohort": args.reclaims},
    }
    return spec if args.cohort is None else {"cohortName": args.cohort, **spec}


def _quota(name: str, count: int, borrowing: int | None) -> dict[str, Any]:
    quota: dict[str, Any] = {"name": name, "nominalQuota": str(count)}
    return quota if borrowing is None else {**quota, "borrowingLimit": str(borrowing)}
