"""Current users of devices, from the clusters' answers or a saved file."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dra_fleet.core.findings.errors import message_of
from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.review.errors import ReviewError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class SavedDevice(_Saved):
    """A device as an allocation names it; `pool` is the slice's."""

    driver: str
    pool: str
    device: str


class RunningPod(_Saved):
    """A pod of a workload, where it runs, and what it holds."""

    name: str
    node: str | None
    devices: tuple[SavedDevice, ...]


class RunningWorkload(_Saved):
    """The pods of one workload."""

    pods: tuple[RunningPod, ...]


class UndeclaredPod(_Saved):
    """A pod of no declared workload, what it belongs to, and what it holds."""

    name: str
    namespace: str
    owner: str
    node: str
    devices: tuple[str, ...]


class RunningPool(_Saved):
    """Number and names of a pool's nodes."""

    nodes: int
    node_names: tuple[str, ...]


class RunningCluster(_Saved):
    """State of one cluster when it was asked. `others` None: not asked for."""

    pools: dict[str, RunningPool]
    workloads: dict[str, RunningWorkload]
    others: tuple[UndeclaredPod, ...] | None = None

    def pool_of(self) -> dict[str, str]:
        """Return the pool of each node."""
        return {node: name for name, pool in self.pools.items() for node in pool.node_names}


class Running(_Saved):
    """All clusters that were asked, by name."""

    clusters: dict[str, RunningCluster]

    def holders(self, cluster: str) -> Mapping[str, Mapping[str, tuple[str, str]]]:
        """Return the workload and the pod that use each device of a cluster, by node and device."""
        found: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        asked = self.clusters.get(cluster)
        for name, workload in (asked.workloads if asked else {}).items():
            for pod in workload.pods:
                for device in pod.devices:
                    found[pod.node or ""][device.device] = (name, pod.name)
        return found


def read_running(path: Path) -> Running:
    """Read what was saved.

    Raises:
        ReviewError: The file cannot be read or is something else.
    """
    try:
        content = read_json_file(path)
    except OSError as problem:
        raise ReviewError(f"{path} cannot be read: {problem.strerror}; {_SAVE}") from None
    except Unreadable as problem:
        raise ReviewError(f"{path} {problem}; {_SAVE}") from None
    return parse_running(content, str(path))


def parse_running(content: Any, source: str) -> Running:  # noqa: ANN401 - any JSON
    """Take what was saved from plain data.

    Raises:
        ReviewError: It is something else.
    """
    try:
        return Running.model_validate(content)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ReviewError(
            f"{source} does not say what runs: {where or 'it'}: {message_of(first)}; {_SAVE}"
        ) from None


_SAVE = "docs/review.md says what such a file holds; `--running clusters` asks the clusters instead"
