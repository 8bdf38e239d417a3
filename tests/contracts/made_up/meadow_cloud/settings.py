"""A cluster of Meadow in a stack file."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.settings.cluster import CommonClusterSettings
from dra_fleet.settings.pools import CommonPoolSettings


class MeadowPoolSettings(CommonPoolSettings):
    """Machines of one kind."""

    machine: str


class MeadowClusterSettings(CommonClusterSettings):
    """A cluster on a meadow."""

    cloud: Literal["meadow"]
    field: str
    pools: Annotated[Mapping[DnsLabel, MeadowPoolSettings], Field(min_length=1)]
