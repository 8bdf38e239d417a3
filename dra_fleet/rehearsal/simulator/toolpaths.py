"""Paths of the binaries that the simulator runs, in a small file that a restarted simulator reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ValidationError

from dra_fleet.rehearsal.simulator.errors import ToolsMissingError
from dra_fleet.rehearsal.simulator.files import write_private
from dra_fleet.rehearsal.tools.toolset import ReleasedPlane

if TYPE_CHECKING:
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion


SCHEDULER = "kube-scheduler"


class Tools(Protocol):
    """Tools that the simulator uses."""

    @property
    def controlplane(self) -> Path | None:
        """The multi-call binary of etcd and the Kubernetes control plane, if it is needed."""
        ...

    @property
    def etcd(self) -> Path | None:
        """The released etcd."""
        ...

    @property
    def planes(self) -> Mapping[str, ReleasedPlane]:
        """The released control planes, by minor."""
        ...

    @property
    def kwok(self) -> Path:
        """The kwok binary."""
        ...

    @property
    def schedulers(self) -> Mapping[str, Path]:
        """The built schedulers of minors other than the control plane's own, by minor."""
        ...


class ToolPaths(BaseModel, frozen=True):
    """The binaries themselves."""

    controlplane: Path | None
    kwok: Path
    etcd: Path | None = None
    planes: Mapping[str, ReleasedPlane] = {}
    schedulers: Mapping[str, Path] = {}

    @classmethod
    def of(cls, tools: Tools) -> ToolPaths:
        """Select the simulator's tools from a larger tool set."""
        return cls(
            controlplane=tools.controlplane,
            kwok=tools.kwok,
            etcd=tools.etcd,
            planes=dict(tools.planes),
            schedulers=dict(tools.schedulers),
        )

    @classmethod
    def read(cls, home: Home) -> ToolPaths:
        """Read what was last written for this home.

        Raises:
            ToolsMissingError: nothing usable was written, or a binary is gone.
        """
        try:
            found = cls.model_validate_json(home.tools.read_bytes())
        except (OSError, ValidationError) as error:
            raise ToolsMissingError(
                f"{home.tools} does not say where the tools are ({error}); run `dra-fleet rehearse up` again"
            ) from error
        planes = (plane.directory for plane in found.planes.values())
        for path in filter(
            None, (found.controlplane, found.kwok, found.etcd, *planes, *found.schedulers.values())
        ):
            if not os.access(path, os.X_OK):
                raise ToolsMissingError(
                    f"{path} is not there or not executable; run `dra-fleet rehearse up` again"
                )
        return found

    def write(self, home: Home) -> None:
        """Record the binaries for this home."""
        write_private(home.tools, self.model_dump_json())

    def store(self) -> tuple[str, ...]:
        """Return the command of etcd: the released one, otherwise the built one."""
        return (str(self.etcd),) if self.etcd else (str(self._built("etcd")), "etcd")

    def component(self, name: str, version: FullVersion) -> tuple[str, ...]:
        """Return the command of a Kubernetes component for the version that it runs and reports.

        A release is its own minor's and reports its own patch with the cluster's suffix, as `--version` lets
        it. A built scheduler is its own minor's, everything else that is built emulates the minor.
        https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/component-base/version/verflag

        Raises:
            ToolsMissingError: there is none.
        """
        emulated = f"--emulated-version={version.minor}"
        if plane := self.planes.get(version.minor):
            return str(plane.directory / name), f"--version={plane.version}{version.suffix}", emulated
        if name == SCHEDULER and (own := self.schedulers.get(version.minor)):
            return str(own), emulated
        return str(self._built(f"Kubernetes {version.minor}")), name, emulated

    def _built(self, what: str) -> Path:
        if self.controlplane is None:
            raise ToolsMissingError(f"{what} is not there; run `dra-fleet rehearse up` again")
        return self.controlplane
