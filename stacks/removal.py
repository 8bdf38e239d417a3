"""Hooks before the deletion of drivers and Jobs: pods keep the devices that they use."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pulumi

from dra_fleet import drivers
from dra_fleet.model.settings import KubeconfigFile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lightkube.config.kubeconfig import SingleConfig

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.model.plan import ClusterPlan, FleetPlan

T = TypeVar("T")

# The Kubernetes client is imported when a release is deleted; no other run needs it.

HOOK: Final = "dra-fleet: wait for pods with devices"
"""The name in the state. It stays, because the engine finds the hook of a deleted release by it."""
CREATED_HOOK: Final = "dra-fleet: remember created releases"
WAIT_SECONDS: Final = 60.0
JOB_HOOK: Final = "dra-fleet: keep running Jobs"
ACCEPT: Final = "replacement"
"""The key under `accept` of a workload."""
KUBECONFIG_SECONDS: Final = 5.0
"""Seconds to wait for the kubeconfig of a cluster.

It has no value until the cluster is replaced, and the engine replaces the cluster only after it has deleted
the cluster's releases.
"""
_DESTROY: Final = {"destroy", "down", "dn"}
_SWITCHES: Final = {"--non-interactive", "--emoji", "-e", "--logtostderr", "--logflow"}
_WITH_VALUE: Final = {"--cwd", "-C", "--color", "--verbose", "-v"}


class PodsHoldDevicesError(Exception):
    """Pods still have devices of a driver whose release is to be deleted."""


class JobRunsError(Exception):
    """The replacement of a Job would end its pods."""


class Removal:
    """The hooks before the deletion of drivers' releases and of Jobs.

    Create it before anything can stop the program: the state names the hooks, and the engine deletes nothing
    without them.

    Attributes:
        hooks: The binding for releases.
        job_hooks: The binding for Jobs.
    """

    def __init__(self) -> None:
        self.hooks = pulumi.ResourceHookBinding(
            before_delete=[pulumi.ResourceHook(HOOK, self.wait)],
            after_create=[pulumi.ResourceHook(CREATED_HOOK, self.remember)],
        )
        self.job_hooks = pulumi.ResourceHookBinding(
            before_delete=[pulumi.ResourceHook(JOB_HOOK, self.keep_running)]
        )
        self._clusters: Mapping[str, ClusterPlan] = {}
        self._kubeconfigs: Mapping[str, pulumi.Output[str]] = {}
        self._created: set[tuple[str, ...]] = set()

    def reach(self, plan: FleetPlan, kubeconfigs: Mapping[str, pulumi.Output[str]]) -> None:
        """Use the clusters of a declared fleet.

        Args:
            plan: The fleet.
            kubeconfigs: By cluster, the kubeconfigs that the program has.
        """
        self._clusters = {cluster.name: cluster for cluster in plan.clusters}
        self._kubeconfigs = kubeconfigs

    def remember(self, args: pulumi.ResourceHookArgs) -> None:
        """Remember a release that this run creates."""
        self._created.add(_identity(args.name, args.new_inputs))

    async def wait(self, args: pulumi.ResourceHookArgs) -> None:
        """Wait until no pod has a device of the release's driver.

        Raises:
            PodsHoldDevicesError: The time is up; the message names the pods.
        """
        from dra_fleet.clusters.releases import wait_for_pods  # noqa: PLC0415

        publishers = self._publishers(str((args.old_inputs or {}).get("chart", "")))
        if not publishers:
            return
        cluster = self._cluster_of(args)
        if _identity(args.name, args.old_inputs) in self._created:
            # One cluster has no two releases of a name, so the kubeconfig of now is of another one.
            pulumi.log.warn(
                f"{args.name} is deleted without a check for pods with its devices: cluster {cluster} is "
                "another one now"
            )
            return
        pods, unread = await self._read(cluster, lambda api: wait_for_pods(api, publishers, WAIT_SECONDS), [])
        if unread:
            pulumi.log.warn(f"{args.name} is deleted without a check for pods with its devices: {unread}")
        if pods:
            raise PodsHoldDevicesError(
                f"pods in cluster {cluster} still use devices of {', '.join(sorted(publishers))}: "
                f"{', '.join(pods)}; without their driver they cannot end; "
                "delete them, then run the command again"
            )

    async def keep_running(self, args: pulumi.ResourceHookArgs) -> None:
        """Refuse to replace a Job with unfinished pods, unless the stack file accepts it.

        A Job that is removed from the stack file is deleted.

        Raises:
            JobRunsError: The Job has unfinished pods.
        """
        cluster = self._cluster_of(args)
        plan = self._clusters.get(cluster)
        name = args.name.removeprefix(f"{cluster}-")
        job = next((item for item in plan.workloads if item.name == name), None) if plan else None
        if job is None or ACCEPT in job.accept or is_destroy():
            return
        name_there = str(args.old_outputs["metadata"]["name"]) if args.old_outputs else ""
        found, unread = await self._read(
            cluster, lambda api: api.find("batch/v1", "Job", name_there, job.namespace), None
        )
        active = found["status"].get("active", 0) if found else 0
        if unread:
            pulumi.log.warn(f"{args.name} is replaced without a check for its pods: {unread}")
        if active:
            raise JobRunsError(
                f"workload {name} in cluster {cluster} has {active} unfinished pods, and this change "
                "replaces the Job and ends them; wait until they have finished, or accept it in the stack "
                f"file: workloads.{name}.accept: {{{ACCEPT}: the reason}}"
            )

    def _cluster_of(self, args: pulumi.ResourceHookArgs) -> str:
        return max((name for name in self._clusters if args.name.startswith(f"{name}-")), key=len, default="")

    async def _read(self, cluster: str, read: Callable[[KubeApi], Awaitable[T]], unread: T) -> tuple[T, str]:
        if not cluster:
            return unread, "the stack file has no such cluster"
        return await read_cluster(cluster, self._kubeconfig(cluster), read, unread)

    async def _kubeconfig(self, name: str) -> SingleConfig:
        from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig  # noqa: PLC0415

        source = self._clusters[name].kubeconfig
        if isinstance(source, KubeconfigFile):
            return await kubeconfig_of(source)
        if name not in self._kubeconfigs:
            raise KubeconfigError("its kubeconfig is unknown")
        reading = asyncio.ensure_future(self._kubeconfigs[name].future())
        await asyncio.wait({reading}, timeout=KUBECONFIG_SECONDS)  # an engine that replaces it waits for us
        text = reading.result() if reading.done() else None
        if text is None:
            raise KubeconfigError("its kubeconfig is unknown while the cluster is created or replaced")
        return read_kubeconfig(text, None)

    def _publishers(self, chart: str) -> set[str]:
        """Return the names under which a chart's driver publishes devices."""
        name = chart.rpartition("/")[2]
        releases = [release for cluster in self._clusters.values() for release in cluster.releases]
        planned = {release.driver for release in releases if release.chart.rpartition("/")[2] == name}
        known = {
            publisher
            for driver in drivers.known()
            if any(version.chart.rpartition("/")[2] == name for version in driver.facts.versions)
            for publisher in driver.publishers
        }
        return planned - {""} | known


def _identity(resource: str, inputs: Mapping[str, Any] | None) -> tuple[str, ...]:
    return resource, *(str((inputs or {}).get(key, "")) for key in ("namespace", "name"))


async def kubeconfig_of(source: KubeconfigFile) -> SingleConfig:
    """Read a kubeconfig file."""
    from dra_fleet.clusters.credentials import read_kubeconfig  # noqa: PLC0415

    return read_kubeconfig(source.file, source.context)


async def read_cluster(
    cluster: str,
    kubeconfig: Awaitable[SingleConfig],
    read: Callable[[KubeApi], Awaitable[T]],
    unread: T,
) -> tuple[T, str]:
    """Return what a function reads in a cluster, or `unread` and why the cluster cannot be read."""
    import httpx2  # noqa: PLC0415

    from dra_fleet.clusters.client import ApiError, KubeApi  # noqa: PLC0415
    from dra_fleet.clusters.credentials import KubeconfigError  # noqa: PLC0415

    try:
        async with KubeApi.connect(await kubeconfig) as api:
            return await read(api), ""
    except (httpx2.TransportError, ApiError, KubeconfigError) as error:
        return unread, f"cluster {cluster} cannot be read: {str(error) or type(error).__name__}"


def is_destroy() -> bool:
    """Return True if `pulumi destroy --run-program` runs this program, False also if that is uncertain."""
    import psutil  # noqa: PLC0415

    with suppress(psutil.Error):
        for parent in psutil.Process().parents():
            words = parent.cmdline()
            if words and Path(words[0]).stem == "pulumi":
                return _command(words[1:]) in _DESTROY
    return False


def _command(words: list[str]) -> str:
    """Return the engine's command in its arguments, "" behind an option of unknown shape."""
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, "")
        elif not (word in _SWITCHES or (word.startswith("--") and "=" in word)):
            return "" if word.startswith("-") else word
    return ""
