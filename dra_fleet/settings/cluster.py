"""What the settings of every cluster have in common, whatever its cloud."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from dra_fleet.settings.base import SettingsModel
from dra_fleet.settings.kubernetes import KubernetesMinor
from dra_fleet.settings.releases import DriverSettings


class CommonClusterSettings(SettingsModel):
    """A cluster with its drivers; each cloud adds its own `pools`."""

    kubernetes: KubernetesMinor | None = None
    # No default: {} says that others install the drivers, and the proof counts on theirs. A stack that forgot
    # its drivers would be proved by ones that nobody installs.
    drivers: Annotated[
        Mapping[str, DriverSettings],
        Field(
            description="DRA drivers by name; {} if the cluster brings its own and this program installs none"
        ),
    ]
