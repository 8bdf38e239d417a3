"""A ResourceClaimTemplate. Its spec is immutable, so a changed spec is another object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.resource import v1 as resource

from .core.identity import by_content
from .device_arguments import claim_spec

if TYPE_CHECKING:
    from dra_fleet.kubernetes.devices.claim import ClaimSpec

    from .core.identity import Identity


@dataclass(frozen=True, kw_only=True)
class ClaimTemplateArgs:
    """Arguments of `ClaimTemplate`.

    Attributes:
        name: its name; a hash of the spec is appended unless `external`.
        namespace: namespace of its consumers.
        spec: the claim that every consuming pod gets.
        external: it is consumed outside the stack, so its name must stay. A changed spec then deletes the old
            object before the new one is created; pods that start in between wait for it.
        identity: whose it is.
    """

    name: str
    namespace: pulumi.Input[str]
    spec: ClaimSpec
    external: bool
    identity: Identity


class ClaimTemplate(resource.ResourceClaimTemplate):
    """A ResourceClaimTemplate. A changed spec replaces it, and consumers in the stack follow its name."""

    def __init__(
        self, name: str, args: ClaimTemplateArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        object_name = args.name if args.external else by_content(args.name, args.spec.to_object())
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            metadata=meta.ObjectMetaArgs(
                name=object_name, namespace=args.namespace, labels=args.identity.labels()
            ),
            spec=resource.ResourceClaimTemplateSpecArgs(spec=claim_spec(args.spec)),
            # The provider cannot know that the server refuses the change: its dry run would fail instead.
            opts=pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(
                    replace_on_changes=["spec"], delete_before_replace=True if args.external else None
                ),
                opts,
            ),
        )
