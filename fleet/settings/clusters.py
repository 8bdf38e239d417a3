"""The union of all clouds' cluster settings, told apart by `cloud`: a cloud is one file and one member."""

from __future__ import annotations

from fleet.settings.existing import ExistingClusterSettings

ClusterSettings = ExistingClusterSettings
"""With a second cloud: Annotated[ExistingClusterSettings | …, Field(discriminator="cloud")]."""
