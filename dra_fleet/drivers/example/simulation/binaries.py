"""The example driver's own plugin, built from its Go modules when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.tools.recipes import Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping

MODULES: Final = Path(__file__).resolve().parent / "modules"
"""The Go modules that pin the driver, one directory per version of its chart."""
DRIVER: Final = "sigs.k8s.io/dra-example-driver"


def recipes() -> Mapping[str, Recipe]:
    """How the driver of each chart version that is pinned is built."""
    return {
        folder.name: Recipe(
            name="dra-example-kubeletplugin",
            title="the example driver",
            module=folder,
            package=f"{DRIVER}/cmd/dra-example-kubeletplugin",
            requirement=DRIVER,
            stamp="",
        )
        for folder in sorted(MODULES.iterdir())
    }
