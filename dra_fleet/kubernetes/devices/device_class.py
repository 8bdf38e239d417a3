"""The spec of a DeviceClass, with the API server's own rules.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/device-class-v1/
"""

from typing import Annotated

from pydantic import Field

from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.names import ExtendedResourceName
from dra_fleet.kubernetes.devices.opaque import DeviceClassConfig
from dra_fleet.kubernetes.devices.selector import Selectors

MAX_CONFIG = 32


class DeviceClassSpec(DeviceModel):
    """Which devices belong to a class, how they are configured, and their extended resource's name."""

    selectors: Selectors = ()
    config: Annotated[tuple[DeviceClassConfig, ...], Field(max_length=MAX_CONFIG)] = ()
    extended_resource_name: ExtendedResourceName | None = None
