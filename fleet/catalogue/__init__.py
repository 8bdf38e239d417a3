"""Facts as data: YAML files with sources and dates, read once through pydantic models."""

from fleet.catalogue.loading import load

__all__ = ["load"]
