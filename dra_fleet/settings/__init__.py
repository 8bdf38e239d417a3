"""The stack file's models: one pure parse for every loader, with every error at once.

A name is imported when it is first asked for: who needs the errors alone does not wait for all models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.findings.errors import SettingsError, SettingsInvalid
    from dra_fleet.settings.fleet import FleetSettings
    from dra_fleet.settings.parsing import parse
    from dra_fleet.settings.stack_file import StackFile, read_stack_file

__all__ = ["FleetSettings", "SettingsError", "SettingsInvalid", "StackFile", "parse", "read_stack_file"]

_MODULES = {
    "FleetSettings": "dra_fleet.settings.fleet",
    "SettingsError": "dra_fleet.findings.errors",
    "SettingsInvalid": "dra_fleet.findings.errors",
    "StackFile": "dra_fleet.settings.stack_file",
    "parse": "dra_fleet.settings.parsing",
    "read_stack_file": "dra_fleet.settings.stack_file",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
