"""Plain values: how their classes are made."""

from dra_fleet.plain.late_methods import dataclass

__all__ = ["dataclass"]
