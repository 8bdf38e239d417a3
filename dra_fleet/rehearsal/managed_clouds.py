"""Prepares the simulated clouds a stack needs: their plugins, and what they have to give.

Clusters of a cloud are not made here: the program asks the cloud for them.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.rehearsal import providers
from dra_fleet.rehearsal.clouds.account import world_name
from dra_fleet.rehearsal.credentials.install import install_helper_of
from dra_fleet.rehearsal.world.client import WorldClient

if TYPE_CHECKING:
    from collections.abc import Generator

    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.world.hardware_file import Hardware


def standing_clusters(plan: FleetPlan) -> list[ClusterPlan]:
    """The stack's clusters that are there before the program runs: no cloud is asked for them."""
    return [cluster for cluster in plan.clusters if cluster.kubeconfig]


@contextmanager
def started_ahead(plan: FleetPlan, home: Home) -> Generator[None]:
    """Let the control planes start of the clusters that the program will ask clouds for.

    They come up while the engine and the program do, which are busy with one processor. What the program has
    not asked for by the end, because something was refused, is removed.
    """
    with WorldClient(home) as world:
        try:
            for cluster in plan.clusters:
                made = not cluster.kubeconfig and cluster.adopts is None
                if made and not (home.clusters / world_name(cluster.name)).exists():
                    world.start_ahead(cluster.cloud, cluster.name, cluster.kubernetes)
            yield
        finally:
            world.drop_ahead()


def prepare_clouds(plan: FleetPlan, hardware: Hardware, home: Home) -> list[str]:
    """Install the stand-in plugins of the stack's clouds and set their limits; returns notes for the user."""
    notes: list[str] = []
    for cloud in sorted({cluster.cloud for cluster in plan.clusters if not cluster.kubeconfig}):
        plugin = providers.cloud_plugin(cloud)
        providers.install(home.pulumi_home, Path(sys.executable), plugin)
        install_helper_of(home, cloud)
        with WorldClient(home) as world:
            world.configure_cloud(cloud, {"limits": hardware.limits_of(cloud)})
        notes.append(f"the cloud {cloud} is simulated: plugin {plugin.name} {plugin.version} is a stand-in")
    return notes
