"""A cluster of Meadow in a stack file."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.clouds.settings import CommonClusterSettings, CommonPoolSettings
from dra_fleet.kubernetes.devices.names import DnsLabel


class MeadowPoolSettings(CommonPoolSettings):
    """Machines of one kind."""

    machine: str


class MeadowClusterSettings(CommonClusterSettings):
    """A cluster on a meadow."""

    cloud: Literal["meadow"]
    field: str
    pools: Annotated[Mapping[DnsLabel, MeadowPoolSettings], Field(min_length=1)]
