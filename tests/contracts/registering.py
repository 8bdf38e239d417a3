"""Other packages' clouds and drivers, registered for one test as an installed package registers them."""

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.drivers.common.facts import driver_facts

MADE_UP = Path(__file__).parent / "made_up"
"""The folder and the entry points of what does not exist."""


@contextmanager
def installed(folder: Path = MADE_UP) -> Generator[None]:
    """A folder on Python's path, as if its packages and their entry points were installed."""
    brought = {path.name for path in folder.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        for registry_module in (clouds, drivers):
            patch.setattr(registry_module, "_REGISTRY", replace(vars(registry_module)["_REGISTRY"]))
        importlib.invalidate_caches()
        _forget()
        try:
            yield
        finally:
            _forget()
            for name in [name for name in sys.modules if name.partition(".")[0] in brought]:
                del sys.modules[name]


def _forget() -> None:
    """Forget what a process reads once of all clouds and drivers."""
    driver_facts.cache_clear()
    clouds.machines.cache_clear()
