"""A DeviceClass. Its name is API: tenants, quotas and implicit extended resources refer to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.resource import v1 as resource

from .device_arguments import device_class_spec

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec

    from .core.identity import Identity


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
