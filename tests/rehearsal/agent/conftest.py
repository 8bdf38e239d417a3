from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.charts import NVIDIA, chart_folder
from tests.rehearsal.agent.agent_cluster import HARDWARE, AgentCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld


@pytest.fixture(scope="package")
def agent_cluster(rehearsal_simulator: RehearsalWorld, tools: Toolset) -> Iterator[AgentCluster]:
    """Eight machines and the NVIDIA driver's chart."""
    cluster = rehearsal_simulator.new_cluster(HARDWARE)
    made = AgentCluster(cluster=cluster, helm_binary=tools.helm)
    made.helm(
        *("install", "nvidia", str(chart_folder(*NVIDIA)), "--namespace", "nvidia-dra-driver"),
        *("--create-namespace", "--set", "gpuResourcesEnabledOverride=true"),
        *("--set", "resources.computeDomains.enabled=false"),
    )
    yield made
    rehearsal_simulator.remove(cluster)
