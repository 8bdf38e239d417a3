"""Refuses a deployment while creations or Helm releases of an interrupted run are pending."""

from __future__ import annotations

import asyncio
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pulumi

from dra_fleet.model.settings import KubeconfigFile

from .removal import is_destroy, kubeconfig_of, read_cluster

if TYPE_CHECKING:
    from concurrent.futures import Future

    from dra_fleet.model.plan import ClusterPlan, FleetPlan

# The Kubernetes client is imported in a deployment only; no preview needs it.

SECONDS: Final = 20.0


class PendingCheck:
    """The check of a deployment, which runs while the plan is proved; a preview and a destroy have none.

    Creations are those of the stack's state. Releases are read in clusters whose kubeconfig is a file: the
    program has no other before it declares resources.
    """

    def __init__(self, plan: FleetPlan) -> None:
        self._found: list[Future[list[str]]] = []
        if not (pulumi.runtime.is_dry_run() or is_destroy()):
            threads = ThreadPoolExecutor()
            self._found = [
                threads.submit(_creations, pulumi.get_stack()),
                threads.submit(asyncio.run, _releases(plan)),
            ]
            threads.shutdown(wait=False)

    def require(self) -> None:
        """Wait for the check.

        Raises:
            pulumi.RunError: Something is pending; the message names it and the command that settles it.
        """
        found = [item for part in self._found for item in part.result()]
        if found:
            raise pulumi.RunError(
                f"an interrupted run left pending: {', '.join(found)}. Run "
                f"`dra-fleet recover {pulumi.get_stack()} --yes`, then this command again"
            )


def _creations(stack: str) -> list[str]:
    command = ["pulumi", "stack", "export", "--stack", stack, "--non-interactive"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        pulumi.log.warn(f"pending creations are unknown: {error}")
        return []
    pending: list[dict[str, Any]] = json.loads(done.stdout)["deployment"].get("pending_operations") or []
    return [
        f"the creation of {item['resource']['urn'].rpartition('::')[2]}"
        for item in pending
        if item["type"] == "creating" and item["resource"].get("custom")
    ]


async def _releases(plan: FleetPlan) -> list[str]:
    clusters = [cluster for cluster in plan.clusters if cluster.releases]
    found = await asyncio.gather(
        *(
            _releases_of(cluster, cluster.kubeconfig)
            for cluster in clusters
            if isinstance(cluster.kubeconfig, KubeconfigFile)
        )
    )
    return [item for part in found for item in part]


async def _releases_of(cluster: ClusterPlan, source: KubeconfigFile) -> list[str]:
    from dra_fleet.clusters.releases import interrupted_releases  # noqa: PLC0415

    try:
        async with asyncio.timeout(SECONDS):
            pending, unread = await read_cluster(
                cluster.name,
                kubeconfig_of(source),
                lambda api: interrupted_releases(api, cluster.releases),
                [],
            )
    except TimeoutError:
        pending, unread = [], f"cluster {cluster.name} did not answer in {SECONDS:.0f} s"
    if unread:
        pulumi.log.warn(f"pending releases are unknown: {unread}")
    return [f"release {item} in cluster {cluster.name}" for item in pending]
