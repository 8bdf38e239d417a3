"""DRA driver releases of a cluster."""

from typing import Annotated, Any

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.settings.base import SettingsModel


class DriverSettings(SettingsModel):
    """One DRA driver: the version of its chart and what differs from this program's values."""

    version: Annotated[str, Field(min_length=1, description="Chart version, exact")]
    install: Annotated[bool, Field(description="false: the cluster runs it already at this version")] = True
    namespace: Annotated[
        DnsLabel | None, Field(description="Where it runs; without it, the driver's usual one")
    ] = None
    values: Annotated[dict[str, Any], Field(description="Chart values, nested as in values.yaml")] = Field(
        default_factory=dict
    )
