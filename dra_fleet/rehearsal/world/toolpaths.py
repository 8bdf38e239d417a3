"""Which binaries the world runs: a small file in its home, so that a restarted world finds them again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dra_fleet.rehearsal.world.errors import ToolsMissingError
from dra_fleet.rehearsal.world.files import write_private

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.home import Home


class Tools(Protocol):
    """What the world needs of a tool set."""

    @property
    def controlplane(self) -> Path:
        """The multi-call binary of etcd and the Kubernetes control plane."""
        ...

    @property
    def kwok(self) -> Path:
        """The kwok binary."""
        ...

    @property
    def schedulers(self) -> Mapping[str, Path]:
        """The built schedulers of minors other than the control plane's own, by minor."""
        ...


@dataclass(frozen=True, kw_only=True)
class ToolPaths:
    """The binaries themselves."""

    controlplane: Path
    kwok: Path
    schedulers: Mapping[str, Path] = field(default_factory=dict[str, Path])

    @classmethod
    def of(cls, tools: Tools) -> ToolPaths:
        """What the world needs of a larger tool set."""
        return cls(controlplane=tools.controlplane, kwok=tools.kwok, schedulers=dict(tools.schedulers))

    @classmethod
    def read(cls, home: Home) -> ToolPaths:
        """Read what was last written for this home.

        Raises:
            ToolsMissingError: nothing usable was written, or a binary is gone.
        """
        try:
            content = json.loads(home.tools.read_text())
            found = cls(
                controlplane=Path(content["controlplane"]),
                kwok=Path(content["kwok"]),
                schedulers={minor: Path(path) for minor, path in content["schedulers"].items()},
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ToolsMissingError(
                f"{home.tools} does not say where the tools are ({error}); run `dra-fleet rehearse up` again"
            ) from error
        for path in (found.controlplane, found.kwok, *found.schedulers.values()):
            if not os.access(path, os.X_OK):
                raise ToolsMissingError(
                    f"{path} is not there or not executable; run `dra-fleet rehearse up` again"
                )
        return found

    def write(self, home: Home) -> None:
        """Record the binaries for this home."""
        schedulers = {minor: str(path) for minor, path in self.schedulers.items()}
        content = {"controlplane": str(self.controlplane), "kwok": str(self.kwok), "schedulers": schedulers}
        write_private(home.tools, json.dumps(content))
