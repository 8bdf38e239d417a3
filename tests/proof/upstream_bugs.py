"""The differences from Kubernetes that are known: data, each with versions and a source."""

from datetime import date
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

_FILE = Path(__file__).with_name("upstream_bugs.yaml")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class UpstreamBug(_Strict):
    """One difference."""

    what: str
    text: str
    example: str
    minors: tuple[int, ...]
    source: str
    read: date


class UpstreamBugs(_Strict):
    """All of them, with the version of the library that stands for each minor."""

    selectors: tuple[UpstreamBug, ...]
    allocations: tuple[UpstreamBug, ...]
    libraries: dict[int, str]


@cache
def upstream_bugs() -> UpstreamBugs:
    """Return the content of the data file."""
    return UpstreamBugs.model_validate(yaml.safe_load(_FILE.read_text(encoding="utf-8")))
