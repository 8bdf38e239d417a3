"""The drivers' own programs that serve in a home, in a small file that a restarted simulator reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.simulator.store import Store

ANY: Final = "*"
"""Any version of a chart, for a program that serves all versions."""


class ServedBy(Struct, frozen=True, kw_only=True):
    """The programs by driver, as stack files name it, and by version of its chart; no program: simulated."""

    programs: Mapping[str, Mapping[str, Path]] = field(default_factory=dict[str, "Mapping[str, Path]"])

    @classmethod
    def read(cls, home: Home) -> ServedBy:
        """Read the last choice in a home; empty without one."""
        try:
            content: dict[str, dict[str, str]] = json.loads(home.served_by.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        return cls(
            programs={
                driver: {version: Path(path) for version, path in programs.items()}
                for driver, programs in content.items()
            }
        )

    def write(self, home: Home) -> None:
        """Choose for a home."""
        content = {
            driver: {version: str(path) for version, path in programs.items()}
            for driver, programs in self.programs.items()
        }
        write_private(home.served_by, json.dumps(content))

    def program(self, driver: str, version: str) -> Path | None:
        """Return the program that serves a driver of a chart's version; None if it is simulated."""
        programs = self.programs.get(driver, {})
        return programs.get(version) or programs.get(ANY)


class OwnPlace(Struct, frozen=True, kw_only=True):
    """Place where the drivers' own programs of a cluster run.

    Args:
        cluster: its name in the store.
        directory: the cluster's.
        store: where processes are recorded.
        server: the API server's URL.
        authority: the certificate that it is trusted by.
        choice: what serves now.
        cloud_api: the address of the simulated clouds' APIs.
    """

    cluster: str
    directory: Path
    store: Store
    server: Callable[[], str | None]
    authority: Callable[[], bytes | None]
    choice: Callable[[], ServedBy]
    cloud_api: Callable[[], str]
