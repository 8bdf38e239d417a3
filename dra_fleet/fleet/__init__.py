"""The settings of a whole fleet: models, one parse for every loader, and the stack file that has them."""

from dra_fleet.core.findings.errors import SettingsError, SettingsInvalid
from dra_fleet.fleet.parsing import parse
from dra_fleet.fleet.settings import FleetSettings
from dra_fleet.fleet.stack_file import StackFile, read_stack_file

__all__ = ["FleetSettings", "SettingsError", "SettingsInvalid", "StackFile", "parse", "read_stack_file"]
