"""ResourceClaims, ResourceClaimTemplates and DeviceClasses, with the models' fields as typed arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.resource import v1 as resource

from .core.identity import by_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.kubernetes.devices.claim import (
        CapacityRequirements,
        ClaimSpec,
        DerivedAttribute,
        DeviceClaimConfig,
        DeviceConstraint,
        DeviceRequest,
        DeviceSubRequest,
        DeviceToleration,
        ExactDeviceRequest,
    )
    from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec, DeviceSelector, OpaqueConfig

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


# The models have checked everything already; nothing is decided here. Empty fields are omitted, as the API
# server stores them.
def device_class_spec(spec: DeviceClassSpec) -> resource.DeviceClassSpecArgs:
    """Return the spec of a DeviceClass."""
    return resource.DeviceClassSpecArgs(
        selectors=_selectors(spec.selectors),
        config=[resource.DeviceClassConfigurationArgs(opaque=_opaque(item.opaque)) for item in spec.config]
        or None,
        extended_resource_name=spec.extended_resource_name,
    )


def claim_spec(spec: ClaimSpec) -> resource.ResourceClaimSpecArgs:
    """Return the spec of a ResourceClaim, which a template repeats."""
    devices = spec.devices
    return resource.ResourceClaimSpecArgs(
        devices=resource.DeviceClaimArgs(
            requests=[_request(request) for request in devices.requests] or None,
            constraints=[_constraint(constraint) for constraint in devices.constraints] or None,
            config=[_config(config) for config in devices.config] or None,
        )
    )


def _request(request: DeviceRequest) -> resource.DeviceRequestArgs:
    return resource.DeviceRequestArgs(
        name=request.name,
        exactly=_exactly(request.exactly) if request.exactly is not None else None,
        first_available=[_alternative(alternative) for alternative in request.first_available] or None,
    )


def _exactly(request: ExactDeviceRequest) -> resource.ExactDeviceRequestArgs:
    return resource.ExactDeviceRequestArgs(
        device_class_name=request.device_class_name,
        selectors=_selectors(request.selectors),
        allocation_mode=request.allocation_mode or None,
        count=request.count or None,
        tolerations=_tolerations(request.tolerations),
        capacity=_capacity(request.capacity),
        derived_attributes=_derived(request.derived_attributes),
        admin_access=request.admin_access,
    )


def _alternative(request: DeviceSubRequest) -> resource.DeviceSubRequestArgs:
    return resource.DeviceSubRequestArgs(
        name=request.name,
        device_class_name=request.device_class_name,
        selectors=_selectors(request.selectors),
        allocation_mode=request.allocation_mode or None,
        count=request.count or None,
        tolerations=_tolerations(request.tolerations),
        capacity=_capacity(request.capacity),
        derived_attributes=_derived(request.derived_attributes),
    )


def _selectors(selectors: Sequence[DeviceSelector]) -> list[resource.DeviceSelectorArgs] | None:
    return [
        resource.DeviceSelectorArgs(cel=resource.CELDeviceSelectorArgs(expression=selector.cel.expression))
        for selector in selectors
    ] or None


def _tolerations(tolerations: Sequence[DeviceToleration]) -> list[resource.DeviceTolerationArgs] | None:
    return [
        resource.DeviceTolerationArgs(
            key=toleration.key or None,
            operator=toleration.operator,
            value=toleration.value or None,
            effect=toleration.effect or None,
            toleration_seconds=toleration.toleration_seconds,
        )
        for toleration in tolerations
    ] or None


def _capacity(capacity: CapacityRequirements | None) -> resource.CapacityRequirementsArgs | None:
    if capacity is None or not capacity.requests:
        return None
    return resource.CapacityRequirementsArgs(requests=dict(capacity.requests))


def _derived(attributes: Sequence[DerivedAttribute]) -> list[resource.DeviceDerivedAttributeArgs] | None:
    return [
        resource.DeviceDerivedAttributeArgs(name=attribute.name, expression=attribute.expression)
        for attribute in attributes
    ] or None


def _constraint(constraint: DeviceConstraint) -> resource.DeviceConstraintArgs:
    return resource.DeviceConstraintArgs(
        requests=list(constraint.requests) or None,
        match_attribute=constraint.match_attribute,
        distinct_attribute=constraint.distinct_attribute,
    )


def _config(config: DeviceClaimConfig) -> resource.DeviceClaimConfigurationArgs:
    return resource.DeviceClaimConfigurationArgs(
        requests=list(config.requests) or None, opaque=_opaque(config.opaque)
    )


def _opaque(config: OpaqueConfig) -> resource.OpaqueDeviceConfigurationArgs:
    return resource.OpaqueDeviceConfigurationArgs(driver=config.driver, parameters=dict(config.parameters))


@dataclass(frozen=True, kw_only=True)
class DeviceClassArgs:
    """Arguments of `DeviceClass`.

    Attributes:
        name: its exact, permanent name.
        spec: checked against every rule of the API; changes are made in place.
        identity: its owner.
    """

    name: str
    spec: DeviceClassSpec
    identity: Identity


class DeviceClass(resource.DeviceClass):
    """A DeviceClass, updated in place."""

    def __init__(self, name: str, args: DeviceClassArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            metadata=meta.ObjectMetaArgs(name=args.name, labels=args.identity.labels()),
            spec=device_class_spec(args.spec),
            opts=opts,
        )
