"""Current users of devices on the clusters of a stack, as plain data for files and reviews."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import httpx2
from msgspec import Struct

from dra_fleet.clusters.allocation import allocation_json, allocation_of
from dra_fleet.clusters.client import ApiError, KubeApi, without_collections
from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig
from dra_fleet.clusters.pending import read_state
from dra_fleet.core.places import project
from dra_fleet.model.settings import KubeconfigFile, KubeconfigSecret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.config.kubeconfig import SingleConfig

    from dra_fleet.clusters.pending import ClusterState
    from dra_fleet.model.plan import ClusterPlan, FleetPlan


Object = dict[str, Any]

Workloads = Mapping[str, tuple[str, int]]
"""Namespace and copies of each workload, by name."""


class ClusterAnswers(Struct, frozen=True, dict=True):
    """Answers of the clusters of some plans, by name."""

    plans: Sequence[FleetPlan]
    states: Mapping[str, ClusterState]

    def holders(self, more: Mapping[str, Workloads]) -> Object:
        """Return the users of devices.

        Args:
            more: By cluster, workloads that no plan may know; those that one knows are as it says.
        """
        known = self._workloads
        if all(found.keys() <= known.get(name, {}).keys() for name, found in more.items()):
            return self.planned
        return self._holders({name: {**more.get(name, {}), **found} for name, found in known.items()})

    @cached_property
    def planned(self) -> Object:
        """Users of devices among the workloads of the plans."""
        return self._holders(self._workloads)

    @property
    def _workloads(self) -> dict[str, dict[str, tuple[str, int]]]:
        return {
            name: {item.name: (item.namespace, item.copies) for one in known for item in one.workloads}
            for name, known in _by_name(self.plans).items()
        }

    def _holders(self, workloads: Mapping[str, Workloads]) -> Object:
        pools = {
            name: {pool.name: pool.labels for one in known for pool in one.pools}
            for name, known in _by_name(self.plans).items()
        }
        found = {
            name: allocation_of(state, pools=pools[name], workloads=workloads[name], explained=False)
            for name, state in self.states.items()
        }
        return {"clusters": {name: dict(allocation_json(one)) for name, one in found.items()}}


async def read_clusters(plans: Sequence[FleetPlan], stack: str) -> ClusterAnswers:
    """Ask every cluster of some plans of a stack, such as the one that will be and the one that was.

    A cluster that the stack has not made yet is omitted.

    Args:
        plans: What is known of clusters, pools and workloads; the last plan's word wins.
        stack: The stack whose secrets or outputs hold kubeconfigs.

    Raises:
        KubeconfigError: A cluster cannot be reached or refuses to answer.
    """
    by_name = _by_name(plans)
    answers = await asyncio.gather(*(_ask(known[-1], stack) for known in by_name.values()))
    found = zip(by_name, answers, strict=True)
    read = ClusterAnswers(plans, {name: answer for name, answer in found if answer is not None})
    _ = read.planned  # evaluated while the caller waits for something else
    return read


def _by_name(plans: Sequence[FleetPlan]) -> dict[str, list[ClusterPlan]]:
    found: dict[str, list[ClusterPlan]] = {}
    for plan in plans:
        for cluster in plan.clusters:
            found.setdefault(cluster.name, []).append(cluster)
    return found


async def _ask(cluster: ClusterPlan, stack: str) -> ClusterState | None:
    try:
        config = open_kubeconfig(cluster, stack)
    except KubeconfigError:
        if cluster.kubeconfig is None:
            return None
        raise
    try:
        async with KubeApi.connect(config) as api:
            with without_collections():
                return await read_state(api, requested={})
    except (httpx2.TransportError, ApiError) as problem:
        said = str(problem) or type(problem).__name__
        raise KubeconfigError(
            f"cluster {cluster.name} does not say who holds devices: {said}; "
            "check its kubeconfig, or review without --running"
        ) from problem


# Opens the kubeconfig of a stack's cluster: a file's context, a secret of the stack, or a stack's output.
#
# Secrets are read through the engine with the caller's own login and kept in memory only.


def open_kubeconfig(cluster: ClusterPlan, stack: str) -> SingleConfig:
    """Open the kubeconfig of a cluster, see `kubeconfig_of`."""
    return read_kubeconfig(*kubeconfig_of(cluster, stack))


def kubeconfig_of(cluster: ClusterPlan, stack: str) -> tuple[str | None, str | None]:
    """Return the kubeconfig's path or text, and its context (None for the current one).

    Args:
        cluster: one of the stack's clusters.
        stack: the stack whose secrets or outputs hold the kubeconfig, if they do.

    Raises:
        KubeconfigError: it cannot be had.
    """
    source = cluster.kubeconfig
    if source is None:
        return _exported(cluster.name, stack), None
    if isinstance(source, KubeconfigFile):
        return source.file, source.context
    if isinstance(source, KubeconfigSecret):
        return _pulumi("config", "get", source.secret, "--stack", stack), None
    return _pulumi("stack", "output", source.output, "--show-secrets", "--stack", source.stack), None


def _exported(cluster: str, stack: str) -> str:
    text = _pulumi("stack", "output", "--json", "--show-secrets", "--stack", stack)
    exported = cast("dict[str, dict[str, str]]", json.loads(text)).get("kubeconfigs", {})
    if cluster not in exported:
        raise KubeconfigError(
            f"stack {stack} has not made cluster {cluster} yet, so there is nothing to look at; "
            "run pulumi up first"
        )
    return exported[cluster]


def _pulumi(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=project(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise KubeconfigError(
            f"Pulumi keeps the kubeconfig, and pulumi cannot be started: {error.strerror}; put it on PATH"
        ) from error
    if done.returncode != 0:
        raise KubeconfigError(f"pulumi {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout
