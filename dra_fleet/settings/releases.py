"""DRA driver releases of a cluster."""

from typing import Annotated, Any

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel, DriverName
from dra_fleet.settings.base import SettingsModel


class DescribedDriver(SettingsModel):
    """A DRA driver that this program does not know: what it must be told of it.

    What its chart takes is not checked. What it publishes is told by the `devices` of pools.
    """

    publishes: Annotated[DriverName, Field(description="The name in its ResourceSlices: fpga.example.com")]
    chart: Annotated[str, Field(min_length=1, description="oci://REGISTRY/CHART, or a chart of repository")]
    repository: Annotated[str, Field(description="URL of a chart repository")] = ""
    plugin: Annotated[
        str,
        Field(
            description="The chart value under which nodeSelector, affinity and tolerations of the plugin's "
            'pods stand; "" where they stand at the top'
        ),
    ] = "kubeletPlugin"


class DriverSettings(SettingsModel):
    """One DRA driver: the version of its chart and what differs from this program's values."""

    version: Annotated[str, Field(min_length=1, description="Chart version, exact")]
    described: Annotated[
        DescribedDriver | None, Field(description="What it is, where this program does not know it")
    ] = None
    install: Annotated[bool, Field(description="false: the cluster runs it already at this version")] = True
    namespace: Annotated[
        DnsLabel | None, Field(description="Where it runs; without it, the driver's usual one")
    ] = None
    values: Annotated[dict[str, Any], Field(description="Chart values, nested as in values.yaml")] = Field(
        default_factory=dict
    )
