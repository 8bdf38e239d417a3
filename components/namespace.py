"""A namespace that the stack owns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pulumi

    from .core.identity import Identity


@dataclass(frozen=True, kw_only=True)
class NamespaceArgs:
    """Arguments of `Namespace`.

    Attributes:
        name: the namespace's exact name.
        identity: its owner.
        labels: more labels, such as the one that allows admin access to devices.
    """

    name: pulumi.Input[str]
    identity: Identity
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


class Namespace(core.Namespace):
    """A namespace."""

    def __init__(self, name: str, args: NamespaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            metadata=meta.ObjectMetaArgs(name=args.name, labels={**args.labels, **args.identity.labels()}),
            opts=opts,
        )
