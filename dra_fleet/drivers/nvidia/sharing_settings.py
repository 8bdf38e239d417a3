"""How the GPUs of a pool are shared: one model per strategy of NVIDIA's."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.settings.base import SettingsModel


class MigSharing(SettingsModel):
    """Every GPU of the pool is cut into the same MIG partitions, each a device of its own."""

    strategy: Literal["mig"] = "mig"
    layout: Annotated[
        Mapping[str, Annotated[int, Field(ge=1)]],
        Field(
            min_length=1, description="MIG profile to number of instances per GPU, for example {1g.5gb: 7}"
        ),
    ]
