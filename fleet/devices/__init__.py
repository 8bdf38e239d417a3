"""Typed resource.k8s.io objects with every rule of the API server, for any supported minor."""

from fleet.devices.gates import check_minor, drop_disabled
from fleet.devices.problem import Problem
from fleet.devices.validate import CelCheck, validate_object

__all__ = ["CelCheck", "Problem", "check_minor", "drop_disabled", "validate_object"]
