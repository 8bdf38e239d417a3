from collections.abc import Iterator

import pytest

from dra_fleet.rehearsal.tools import Toolset
from tests.charts import NVIDIA, chart_folder
from tests.engine_support import RehearsalWorld
from tests.rehearsal.agent.agent_cluster import HARDWARE, AgentCluster


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
