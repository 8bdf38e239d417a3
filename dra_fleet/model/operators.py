"""The NVIDIA GPU Operator of a cluster, where it installs the GPU driver or makes MIG partitions."""

from typing import Annotated, Any

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.model.base import SettingsModel


class GpuOperatorSettings(SettingsModel):
    """The version of the operator's chart and what differs from this program's values."""

    version: Annotated[str, Field(min_length=1, description="Chart version, exact, with its v")]
    namespace: Annotated[DnsLabel | None, Field(description="Where it runs; without it, gpu-operator")] = None
    values: Annotated[dict[str, Any], Field(description="Chart values, nested as in values.yaml")] = Field(
        default_factory=dict
    )
