"""A ResourceClaim that several pods share by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.resource import v1 as resource

from .device_arguments import claim_spec

if TYPE_CHECKING:
    from dra_fleet.kubernetes.devices.claim import ClaimSpec

    from .core.identity import Identity


@dataclass(frozen=True, kw_only=True)
class ClaimArgs:
    """Arguments of `Claim`.

    Attributes:
        name: its exact name, with which pods share it.
        namespace: namespace of those pods.
        spec: the requested devices; immutable.
        identity: whose it is.
    """

    name: str
    namespace: pulumi.Input[str]
    spec: ClaimSpec
    identity: Identity


class Claim(resource.ResourceClaim):
    """A ResourceClaim. A changed spec frees its devices first, then requests them under the same name."""

    def __init__(self, name: str, args: ClaimArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            metadata=meta.ObjectMetaArgs(
                name=args.name, namespace=args.namespace, labels=args.identity.labels()
            ),
            spec=claim_spec(args.spec),
            opts=pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(replace_on_changes=["spec"], delete_before_replace=True), opts
            ),
        )
