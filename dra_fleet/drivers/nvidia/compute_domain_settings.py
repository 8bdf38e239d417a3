"""ComputeDomains: pods on several nodes whose GPUs reach each other's memory over NVLink."""

from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.settings.base import SettingsModel


class ComputeDomainSettings(SettingsModel):
    """A ComputeDomain of the NVIDIA driver. Workloads join it by `computeDomain`."""

    cluster: Annotated[str, Field(description="Cluster of this stack")]
    num_nodes: Annotated[
        int,
        Field(
            ge=0,
            description="0 unless the feature gate IMEXDaemonsWithDNSNames is off: then exactly the nodes "
            "that join",
        ),
    ] = 0
    channels: Annotated[
        Literal["Single", "All"], Field(description="IMEX channels of each pod: one, or all of its node")
    ] = "Single"
    template: Annotated[
        DnsLabel | None,
        Field(
            description="Exact name of the ResourceClaimTemplate that the driver makes, for pods outside "
            "this stack; the domain then keeps its exact name too"
        ),
    ] = None
