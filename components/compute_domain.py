"""NVIDIA's ComputeDomain: pods on several nodes whose GPUs reach each other's memory over NVLink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.drivers.nvidia.facts import (
    API,
    CLIQUE_LABEL,
    KIND,
    ChannelTemplate,
    ComputeDomainChannel,
    ComputeDomainSpec,
)

from .core.identity import by_content

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, Self

    from dra_fleet.model.plan import ComputeDomainPlan

    from .core.identity import Identity


@dataclass(frozen=True, kw_only=True)
class ComputeDomainArgs:
    """Arguments of `ComputeDomain`.

    Attributes:
        name: its name; a hash of the spec is appended, to the template's name too, unless `external`.
        namespace: namespace of its pods; the driver creates the template there.
        num_nodes: 0 if nodes join when their pods start, otherwise the number of nodes that join.
        allocation_mode: the channels that each pod gets; None if the driver's version has no such field.
        template: name of the ResourceClaimTemplate that the driver creates.
        external: pods outside the stack use the template, so the names must stay. A changed spec then deletes
            the old domain before the new one is created.
        identity: its owner.
    """

    name: str
    namespace: pulumi.Input[str]
    num_nodes: int
    allocation_mode: Literal["Single", "All"] | None
    template: str
    external: bool
    identity: Identity


class ComputeDomain(CustomResource):
    """A ComputeDomain. Its spec is immutable; a changed one is another object with another template.

    Attributes:
        metadata: The object's.
        template: Name of the template of the claims by which pods join it.
    """

    metadata: pulumi.Output[Mapping[str, Any]]
    template: str
    fabric_label = CLIQUE_LABEL
    """The node label that has one value on all nodes of the domain's pods."""

    @classmethod
    def planned(
        cls, name: str, plan: ComputeDomainPlan, identity: Identity, opts: pulumi.ResourceOptions | None
    ) -> Self:
        """Declare a planned ComputeDomain.

        Args:
            name: The logical name.
            plan: Its plan.
            identity: The stack's.
            opts: With the cluster's provider.
        """
        args = ComputeDomainArgs(
            name=plan.name,
            namespace=plan.namespace,
            num_nodes=plan.num_nodes,
            allocation_mode=plan.allocation_mode,
            template=plan.template,
            external=plan.external,
            identity=identity,
        )
        return cls(name, args, opts)

    def __init__(
        self, name: str, args: ComputeDomainArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        declared = _spec(args, args.template)
        object_name, template = args.name, args.template
        if not args.external:
            object_name = by_content(args.name, declared.to_object())
            template = by_content(args.template, declared.to_object())
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            api_version=API,
            kind=KIND,
            metadata=meta.ObjectMetaArgs(
                name=object_name, namespace=args.namespace, labels=args.identity.labels()
            ),
            spec=_spec(args, template).to_object(),
            opts=pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(
                    replace_on_changes=["spec"], delete_before_replace=True if args.external else None
                ),
                opts,
            ),
        )
        # The driver makes it a moment later; pods that come first wait for it.
        self.template = template


def _spec(args: ComputeDomainArgs, template: str) -> ComputeDomainSpec:
    return ComputeDomainSpec(
        num_nodes=args.num_nodes,
        channel=ComputeDomainChannel(
            resource_claim_template=ChannelTemplate(name=template), allocation_mode=args.allocation_mode
        ),
    )
