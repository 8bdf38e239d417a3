"""A driver's container as a plain process: flags, environment and mounted paths as its pod states them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object

REGISTRAR: Final = "KUBELET_REGISTRAR_DIRECTORY_PATH"
PLUGINS: Final = "KUBELET_PLUGINS_DIRECTORY_PATH"
CDI: Final = "CDI_ROOT"
PLACES: Final = {
    REGISTRAR: "/var/lib/kubelet/plugins_registry",
    PLUGINS: "/var/lib/kubelet/plugins",
    CDI: "/var/run/cdi",
}
"""Where a driver looks when its container does not say; each is a directory of the node."""
PORTS: Final = ("HEALTHCHECK_PORT", "METRICS_PORT")
"""All nodes of a rehearsal are one machine, so that each driver takes any free port."""
_REFERENCE: Final = re.compile(r"\$\((\w+)\)")
_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


@dataclass(frozen=True, kw_only=True)
class ContainerProcess:
    """A driver's container on one node.

    Args:
        pod: whose it is.
        container: its specification.
        command: the program's name in it.
        root: the node's directory, in which each of its paths is a directory of the path's last name.
    """

    pod: Object
    container: Object
    command: str
    root: Path

    def flags(self) -> list[str]:
        """What the program is given after its name."""
        said = " ".join([*self.container.get("command", []), *self.container.get("args", [])])
        words = _expanded(said, self._plain()).split()
        return [self._on_node(word) for word in words[words.index(self.command) + 1 :]]

    def environment(self) -> dict[str, str]:
        """Its variables, with the paths of mounts as they are on this machine.

        Directories of sockets are relative to the node's, in which it runs: what a kernel takes for the path
        of a socket is short.
        """
        values = {**PLACES, **self._plain()}
        values |= {name: "0" for name in PORTS if name in values}
        places = {name: self._place(values[name]) for name in PLACES}
        places |= {name: places[name].relative_to(self.root) for name in (REGISTRAR, PLUGINS)}
        return {name: self._on_node(value) for name, value in values.items()} | {
            name: str(place) for name, place in places.items()
        }

    def directory(self, variable: str) -> Path:
        """One of `PLACES` on this machine."""
        return self.root / self.environment()[variable]

    def _plain(self) -> dict[str, str]:
        values: dict[str, str] = {}
        for item in self.container.get("env", []):
            source = item.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            told = _field(self.pod, source) if source else item.get("value", "")
            values[item["name"]] = _expanded(told, values)
        return values

    def _place(self, path: str) -> Path:
        """A directory of the node; one that is not mounted is the container's own, where no kubelet looks."""
        moved = self._on_node(path)
        return Path(moved) if moved != path else self.root / "container" / PurePosixPath(path).name

    def _on_node(self, value: str) -> str:
        for mount, host in self._mounts().items():
            if value == mount or value.startswith(f"{mount}/"):
                return f"{self.root / (PurePosixPath(host).name or 'host')}{value.removeprefix(mount)}"
        return value

    def _mounts(self) -> Mapping[str, str]:
        volumes = {
            item["name"]: item["hostPath"]["path"]
            for item in self.pod["spec"].get("volumes", [])
            if "hostPath" in item
        }
        mounts: list[Object] = self.container.get("volumeMounts", [])
        return {
            item["mountPath"].rstrip("/"): volumes[item["name"]] for item in mounts if item["name"] in volumes
        }


def _expanded(text: str, values: Mapping[str, str]) -> str:
    """A text with `$(NAME)` replaced, where there is such a variable.

    Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
    """
    return _REFERENCE.sub(lambda found: values.get(found[1], found[0]), text)


def _field(pod: Object, path: str) -> str:
    """A field of a pod that its environment names; empty where the pod lacks it."""
    if found := _FIELD.fullmatch(path):
        return str(pod["metadata"].get(found[1], {}).get(found[2], ""))
    part, _, name = path.partition(".")
    return str(pod.get(part, {}).get(name, ""))
