"""A DeviceClass. Its name is API: tenants, quotas and implicit extended resources refer to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.resource import v1 as resource

from .core.component import FleetComponent
from .device_arguments import device_class_spec

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec

    from .core.identity import Identity


@dataclass(frozen=True, kw_only=True)
class DeviceClassArgs:
    """What a DeviceClass takes.

    Attributes:
        name: its exact name; it stays.
        spec: checked against every rule of the API; changes are made in place.
        identity: whose it is.
    """

    name: str
    spec: DeviceClassSpec
    identity: Identity


class DeviceClass(FleetComponent):
    """One DeviceClass, updated in place."""

    TOKEN = "dra-fleet:devices:DeviceClass"  # noqa: S105 - a type token

    name: pulumi.Output[str]

    def __init__(self, name: str, args: DeviceClassArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, {"name": args.name}, opts)
        device_class = resource.DeviceClass(
            name,
            metadata=meta.ObjectMetaArgs(name=args.name, labels=args.identity.labels()),
            spec=device_class_spec(args.spec),
            opts=self.child_opts(),
        )
        self.publish(name=device_class.metadata.apply(lambda metadata: metadata.name))
