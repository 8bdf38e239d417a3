"""The stack file's models: one pure parse for every loader, with every error at once."""

from fleet.settings.errors import SettingsError, SettingsInvalid
from fleet.settings.fleet import FleetSettings
from fleet.settings.parsing import parse
from fleet.settings.stack_file import StackFile, read_stack_file

__all__ = ["FleetSettings", "SettingsError", "SettingsInvalid", "StackFile", "parse", "read_stack_file"]
