"""Facts as data: YAML files with sources and dates, read once through pydantic models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.hardware.loading import Catalogue

__all__ = ["load"]


def load() -> Catalogue:
    """All facts, each read once per process; their models are imported when they are first asked for."""
    from dra_fleet.hardware import loading  # noqa: PLC0415 - takes longer than many who import this need at all

    return loading.load()
