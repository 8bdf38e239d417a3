"""The union of all clouds' cluster settings, told apart by `cloud`: a cloud is one file and one member."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fleet.settings.aks import AksClusterSettings
from fleet.settings.eks import EksClusterSettings
from fleet.settings.existing import ExistingClusterSettings
from fleet.settings.gke import GkeClusterSettings

ClusterSettings = Annotated[
    AksClusterSettings | EksClusterSettings | GkeClusterSettings | ExistingClusterSettings,
    Field(discriminator="cloud"),
]
