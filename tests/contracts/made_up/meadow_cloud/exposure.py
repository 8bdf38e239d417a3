"""How a cluster of Meadow is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.exposure import Exposed, administrators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meadow_cloud.settings import MeadowClusterSettings


def exposure(settings: MeadowClusterSettings) -> Sequence[Exposed]:
    """From the field it stands on."""
    return [
        Exposed(subject="API server", text=f"stands on field {settings.field}", level="note"),
        administrators([], "owns the field"),
    ]
