"""DRA driver releases of a cluster."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dra_fleet.core.facts.chart_versions import EXAMPLE, is_chart_version
from dra_fleet.kubernetes.devices.names import DnsLabel, DriverName
from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.model.base import SettingsModel


class DescribedField(SettingsModel):
    """A field of the opaque parameters of a driver that a stack file describes."""

    name: Annotated[str, Field(min_length=1, description="Its dotted path: sharing.strategy")]
    type: Annotated[
        Literal["string", "integer", "boolean", "quantity"], Field(description="What its value is")
    ]
    required: Annotated[bool, Field(description="Refused without it")] = False
    allowed: Annotated[tuple[str, ...], Field(description="Its values; without them, any")] = ()
    least: Annotated[str | None, Field(description="The least number or quantity")] = None
    most: Annotated[str | None, Field(description="The greatest number or quantity")] = None


class DescribedParameters(SettingsModel):
    """One kind of opaque parameters that a driver decodes; fields beside these are refused."""

    kind: Annotated[str, Field(min_length=1, description="As in `parameters` of claims: GpuConfig")]
    api_version: Annotated[str, Field(min_length=1, description="As in `parameters` of claims")]
    fields: tuple[DescribedField, ...] = ()


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
    parameters: Annotated[
        tuple[DescribedParameters, ...] | None,
        Field(
            description="The opaque parameters that it decodes; [] where it takes none. Without it, those "
            "for it are not judged"
        ),
    ] = None


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

    @model_validator(mode="after")
    def _whole_version(self) -> Self:
        if self.described is not None and not is_chart_version(self.version):
            raise refuse(f"is no version of a chart: {self.version}", fix=f"write {EXAMPLE}", at="version")
        return self
