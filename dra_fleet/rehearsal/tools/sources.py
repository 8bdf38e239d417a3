"""Sources of tools, as `$DRA_FLEET_TOOLS` selects them: releases, builds, or both."""

from __future__ import annotations

import os
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from dra_fleet.rehearsal.tools.cache import ToolsError

VARIABLE: Final = "DRA_FLEET_TOOLS"


class Allowed(Enum):
    """Permitted ways to get a tool that is neither on PATH nor in the cache."""

    AUTO = "auto"
    """Download it where the network lets us, else build it."""
    BUILD = "build"
    """Build it; nothing is downloaded but Go modules, and no release is used."""
    DOWNLOAD = "download"
    """Download it or fail; nothing is built."""


class Sources(Struct, frozen=True, kw_only=True):
    """Sources of tools."""

    allowed: Allowed = Allowed.AUTO
    mirror: str = ""
    """An address that has the files of all projects, each below its host's name; "" for the projects' own."""

    @classmethod
    def chosen(cls) -> Sources:
        """Read the variable; `auto` without it.

        Raises:
            ToolsError: it says something else.
        """
        said = os.environ.get(VARIABLE) or Allowed.AUTO.value
        if urlsplit(said).scheme in {"https", "http"} and urlsplit(said).hostname:
            return cls(allowed=Allowed.DOWNLOAD, mirror=said.rstrip("/"))
        try:
            return cls(allowed=Allowed(said))
        except ValueError:
            allowed = ", ".join(item.value for item in Allowed)
            raise ToolsError(
                f"{VARIABLE} is {said!r}; allowed: {allowed}, or the address of a mirror (https://HOST/PATH)"
            ) from None

    def address(self, published: str) -> str:
        """Return the address from which to fetch a file that a project publishes at `published`."""
        return f"{self.mirror}/{published.removeprefix('https://')}" if self.mirror else published
