"""The clusters that stand before a run: started side by side, all machines joined, then looked at."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.clusters.pending.explain import REGISTRY
from dra_fleet.clusters.preflight import expectations, preflight
from dra_fleet.clusters.releases import wait_for_slices
from dra_fleet.rehearsal import providers
from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.clouds.account import simulator_name
from dra_fleet.rehearsal.credentials.install import install_helper_of
from dra_fleet.rehearsal.environment import network
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.registry import addresses
from dra_fleet.rehearsal.simulator.client import SimulatorClient
from dra_fleet.rehearsal.simulator.hardware_file import Hardware

if TYPE_CHECKING:
    from collections.abc import Generator

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.clusters.preflight import Requested
    from dra_fleet.core.findings.errors import PreflightFinding
    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.project import StackSource
    from dra_fleet.rehearsal.reporting import Reporter, Step
    from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware, InstalledChart
    from dra_fleet.rehearsal.tools import Toolset


TIMEOUT = "300s"

JOINED_WITHIN = 60.0
"""Seconds without a machine that joins until a cluster is looked at as it is."""

POLL_SECONDS = 0.2


def read_hardware(plan: FleetPlan, source: StackSource) -> Hardware:
    """Return the stack's simulated hardware; empty without existing clusters and without a hardware file.

    Raises:
        RehearsalError: the file is missing though a cluster needs it, or it is wrong.
    """
    if standing_clusters(plan):
        source.require_hardware()
    return Hardware.read(source.hardware) if source.hardware.is_file() else Hardware(clusters={})


def refuse_mismatch(plan: FleetPlan, hardware: Hardware, source: StackSource) -> None:
    """Check that each existing cluster has simulated hardware of its Kubernetes version.

    Raises:
        RehearsalError: naming every cluster that has not.
    """
    wrong: list[str] = []
    for cluster in standing_clusters(plan):
        described = hardware.clusters.get(cluster.name)
        if described is None:
            wrong.append(f"cluster {cluster.name} is not in {source.hardware}; describe its nodes there")
        elif not described.kubernetes.startswith(f"v{cluster.kubernetes}."):
            wrong.append(
                f"cluster {cluster.name}: the stack says kubernetes {cluster.kubernetes}, "
                f"{source.hardware} says {described.kubernetes}; make them agree"
            )
    if wrong:
        raise RehearsalError("\n".join(wrong))


def start_clusters(
    plan: FleetPlan, hardware: Hardware, home: Home, toolset: Toolset, reporter: Reporter
) -> None:
    """Start the clusters' control planes side by side, wait for their machines, install what they have.

    Raises:
        RehearsalError: one does not start.
    """
    names = [cluster.name for cluster in standing_clusters(plan)]
    if not names:
        return
    with (
        reporter.step(f"control planes of {', '.join(names)}"),
        ThreadPoolExecutor(len(names)) as side_by_side,
    ):
        for started in [side_by_side.submit(_start, home, name, hardware) for name in names]:
            started.result()
    with reporter.step("machines") as step:
        asyncio.run(machines_joined(home, hardware, names, step))
    for name in names:
        install_charts(home, toolset.helm, name, hardware.clusters[name])


def _start(home: Home, name: str, hardware: Hardware) -> None:
    described = hardware.clusters[name]
    with SimulatorClient(home) as simulator:
        simulator.create_cluster(
            name,
            version=described.kubernetes,
            hardware=described.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        )


async def machines_joined(home: Home, hardware: Hardware, clusters: list[str], step: Step) -> None:
    """Return once every machine has its node, or none came for a while: preflight says what is missing.

    Args:
        home: where the clusters run.
        hardware: their machines.
        clusters: their names.
        step: receives the number of joined nodes.
    """
    requested = {name: {host.name for host in hardware.clusters[name].hosts()} for name in clusters}
    total, joined = sum(map(len, requested.values())), Counter[str]()
    clock = asyncio.get_running_loop().time
    newest = clock()
    while joined.total() < total and clock() - newest < JOINED_WITHIN:
        for name in clusters:
            async with connect(home, name) as api:
                nodes = (await api.list("v1", "Node"))["items"]
            there = len(requested[name] & {node["metadata"]["name"] for node in nodes})
            if there > joined[name]:
                joined[name], newest = there, clock()
        step.update("joined", done=joined.total(), total=total)
        await asyncio.sleep(POLL_SECONDS if joined.total() < total else 0)


async def refuse_unready(plan: FleetPlan, home: Home) -> None:
    """Look at every cluster as `doctor` does.

    Raises:
        RehearsalError: with every problem.
    """
    clusters = standing_clusters(plan)
    found = await asyncio.gather(*(_look(cluster, home) for cluster in clusters))
    problems = [
        f"cluster {cluster.name}: {item.message}" + (f"; {item.fix}" if item.fix else "")
        for cluster, findings in zip(clusters, found, strict=True)
        for item in findings
        if item.level == "problem"
    ]
    if problems:
        raise RehearsalError("\n".join(problems))


async def _look(cluster: ClusterPlan, home: Home) -> list[PreflightFinding]:
    requested = expectations(cluster)
    async with connect(home, cluster.name) as api:
        await _let_slices_go(api, requested)
        return await preflight(api, requested)


async def _let_slices_go(api: KubeApi, requested: Requested) -> None:
    """Wait for what ended drivers published: after an interrupted installation Helm removes it itself."""
    daemon_sets = (await api.list("apps/v1", "DaemonSet"))["items"]
    if not any(REGISTRY in json.dumps(item["spec"]["template"]) for item in daemon_sets):
        for driver in requested.installs:
            await wait_for_slices(api, driver)


def install_charts(home: Home, helm: Path, cluster: str, hardware: ClusterHardware) -> None:
    """Install the cluster's own charts with Helm and wait until their pods run; again changes nothing.

    Raises:
        RehearsalError: Helm refused; its own words.
    """
    for item in hardware.installed:
        _install(home, helm, cluster, item)


def _install(home: Home, helm: Path, cluster: str, item: InstalledChart) -> None:
    address = next((one for one in addresses.known() if one.chart == item.chart), None)
    if address is None:
        known = ", ".join(sorted({one.chart for one in addresses.known()}))
        raise RehearsalError(
            f"cluster {cluster}: unknown chart {item.chart} in the hardware file; known: {known}"
        )
    options = ["--namespace", item.namespace, "--create-namespace", "--wait", "--timeout", TIMEOUT]
    done = subprocess.run(
        [
            *(str(helm), "upgrade", "--install", item.chart, *address.arguments),
            *("--version", item.version, *options, "--values", "-"),
        ],
        env={
            "KUBECONFIG": str(home.clusters / cluster / "admin.kubeconfig"),
            "HOME": str(home.root),
            **network(home),
        },
        input=json.dumps(item.values),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RehearsalError(
            f"cluster {cluster}: chart {item.chart} {item.version} of the hardware file cannot be installed: "
            + done.stderr.strip()
        )


# Prepares the simulated clouds a stack needs: their plugins, and what they have to give.
#
# Clusters of a cloud are not made here: the program asks the cloud for them.


def standing_clusters(plan: FleetPlan) -> list[ClusterPlan]:
    """Return the stack's clusters that exist before the program runs: no cloud creates them."""
    return [cluster for cluster in plan.clusters if cluster.kubeconfig]


@contextmanager
def started_ahead(plan: FleetPlan, home: Home) -> Generator[None]:
    """Let the control planes start of the clusters that the program will ask clouds for.

    They come up while the engine and the program do, which are busy with one processor. What the program has
    not asked for by the end, because something was refused, is removed.
    """
    with SimulatorClient(home) as simulator:
        try:
            for cluster in plan.clusters:
                made = not cluster.kubeconfig and cluster.adopts is None
                if made and not (home.clusters / simulator_name(cluster.name)).exists():
                    simulator.start_ahead(cluster.cloud, cluster.name, cluster.kubernetes)
            yield
        finally:
            simulator.drop_ahead()


def prepare_clouds(plan: FleetPlan, hardware: Hardware, home: Home) -> list[str]:
    """Install the simulated plugins of the stack's clouds and set their limits; return notes for the user."""
    notes: list[str] = []
    for cloud in sorted({cluster.cloud for cluster in plan.clusters if not cluster.kubeconfig}):
        plugin = providers.cloud_plugin(cloud)
        providers.install(home.pulumi_home, Path(sys.executable), plugin)
        install_helper_of(home, cloud)
        with SimulatorClient(home) as simulator:
            simulator.configure_cloud(cloud, {"limits": hardware.limits_of(cloud)})
        notes.append(f"cloud {cloud} is simulated by the plugin {plugin.name} {plugin.version}")
    return notes
