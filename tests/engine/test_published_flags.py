"""The published recipes, flags and manifests unchanged: what becomes of their pods, and the words for it.

Installed with Helm as the articles do, on simulated machines such as AKS gives.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.clusters.pending import Cause, explain, explain_pending, read_state
from dra_fleet.clusters.pending.state import results_of
from tests.charts import chart_folder
from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.clusters.pending import ClusterState, WaitingReason
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld, SimulatedCluster

pytestmark = pytest.mark.engine

RECIPES = PROJECT / "tests" / "data" / "recipes"
Node = dict[str, Any]
NAMESPACE = "nvidia-dra-driver-gpu"
DEADLINE_SECONDS = 600
"""A guard against waiting for ever, no measure of anything."""
OLD, NEW = ("nvidia-dra-driver-gpu", "25.8.1"), ("dra-driver-nvidia-gpu", "0.5.0")
OPERATOR = ("gpu-operator", "v25.10.0")
WHOLE = [f"gpu-{number}" for number in range(8)]
"""In whatever order the driver publishes them."""
PRESENT = {"nvidia.com/gpu.present": "true"}
VGPU: Node = {
    "name": "aks-vgpu-1",
    "machine": "Standard_NV6ads_A10_v5",
    "labels": {"accelerator": "nvidia"},
    "nvidia": {"driverVersion": "580.95.05"},
}
A100: Node = {
    "name": "aks-mig-1",
    "machine": "Standard_ND96amsr_A100_v4",
    "labels": {**PRESENT, "nvidia.com/mig.config": "all-disabled"},
    "nvidia": {"driverVersion": "580.95.05", "driverRoot": "/run/nvidia/driver"},
}
# A machine of a pool made with --gpu-driver none, before the operator has seen it.
DRIVERLESS: Node = {
    "name": "aks-mig-1",
    "machine": "Standard_ND96amsr_A100_v4",
    "labels": {"accelerator": "nvidia", "kubernetes.azure.com/mode": "user"},
}
SKU = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}


class Recipe:
    """A cluster that gets a published recipe."""

    def __init__(self, cluster: SimulatedCluster, tools: Toolset) -> None:
        self.cluster = cluster
        self._helm = tools.helm

    def install(self, chart: tuple[str, str], recipe: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Install a chart with the published values."""
        found = chart_folder(*chart)
        command = [str(self._helm), "upgrade", "--install", chart[0], str(found)]
        operator = chart == OPERATOR
        where = ["--namespace", "gpu-operator" if operator else NAMESPACE, "--create-namespace"]
        file = "published-operator-values.yaml" if operator else "published-values.yaml"
        values = ["--values", str(RECIPES / recipe / file)]
        return subprocess.run(
            [*command, *where, *values, *options],
            env={"KUBECONFIG": str(self.cluster.admin_kubeconfig), "HOME": "/nonexistent"},
            capture_output=True,
            text=True,
            check=False,
        )

    def wait(
        self, *objects: dict[str, Any], until: Callable[[ClusterState, dict[str, Any]], bool]
    ) -> WaitingReason:
        """Make these objects, and wait until the pod that wants devices is as expected; why it waits."""
        return asyncio.run(self._wait(objects, until))

    async def _wait(
        self, objects: tuple[dict[str, Any], ...], until: Callable[[ClusterState, dict[str, Any]], bool]
    ) -> WaitingReason:
        async with self.cluster.admin() as api:
            for item in objects:
                await api.create({**item, "metadata": {"namespace": "default", **item["metadata"]}})
            deadline = time.monotonic() + DEADLINE_SECONDS
            while True:
                state = await read_state(api)
                pod = next((item for item in state.pods if item["spec"].get("resourceClaims")), None)
                if pod and (until(state, pod) or time.monotonic() > deadline):
                    return explain(state, pod) if not pod["spec"].get("nodeName") else await running(api, pod)
                await asyncio.sleep(0.2)

    def state(self) -> ClusterState:
        """A snapshot."""

        async def read() -> ClusterState:
            async with self.cluster.admin() as api:
                return await read_state(api)

        return asyncio.run(read())


async def running(api: KubeApi, pod: dict[str, Any]) -> WaitingReason:
    return await explain_pending(api, pod)


def because(cause: Cause) -> Callable[[ClusterState, dict[str, Any]], bool]:
    return lambda state, pod: explain(state, pod).cause is cause


def is_bound(state: ClusterState, pod: dict[str, Any]) -> bool:
    del state
    return bool(pod["spec"].get("nodeName"))


def is_bound_and_its_node_has_a_layout(state: ClusterState, pod: dict[str, Any]) -> bool:
    """The operator requests its default layout at its own pace, before or after a pod is there."""
    asked = any("nvidia.com/mig.config" in node["metadata"]["labels"] for node in state.nodes)
    return asked and is_bound(state, pod)


@pytest.fixture
def on(tools: Toolset, rehearsal_simulator: RehearsalWorld) -> Iterator[Callable[..., Recipe]]:
    made: list[SimulatedCluster] = []

    def make(**node: Any) -> Recipe:
        made.append(rehearsal_simulator.new_cluster({"kubernetes": "v1.36.3", "nodes": [node]}))
        return Recipe(made[-1], tools)

    yield make
    for cluster in made:
        rehearsal_simulator.remove(cluster)


def published(recipe: str) -> list[dict[str, Any]]:
    """The article's manifests."""
    text = (RECIPES / recipe / "published.yaml").read_text()
    return list(YAML(typ="safe", pure=True).load_all(text))  # pyright: ignore[reportUnknownMemberType]


def asking(device_class: str) -> list[dict[str, Any]]:
    """A template and a pod that requests one device of a class."""
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": device_class}}]}}
    container = {"name": "main", "image": "busybox", "resources": {"claims": [{"name": "gpu"}]}}
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "one"},
            "spec": {"spec": spec},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "user"},
            "spec": {"containers": [container], "resourceClaims": claims},
        },
    ]


def test_s1_on_a_node_that_no_one_labelled_names_the_missing_label(on: Callable[..., Recipe]) -> None:
    recipe = on(**VGPU)
    assert recipe.install(OLD, "s1").returncode == 0

    reason = recipe.wait(*asking("gpu.nvidia.com"), until=because(Cause.DRIVER_LABEL_MISSING))

    assert reason.cause is Cause.DRIVER_LABEL_MISSING
    assert "no pod of driver gpu.nvidia.com on node aks-vgpu-1 because it has none of the labels" in str(
        reason
    )
    assert "nvidia.com/gpu.present" in str(reason)


def test_s1_with_the_label_in_the_pool_gives_its_pod_the_vgpu(on: Callable[..., Recipe]) -> None:
    recipe = on(**{**VGPU, "labels": {**VGPU["labels"], **PRESENT}})
    assert recipe.install(OLD, "s1").returncode == 0

    recipe.wait(*asking("gpu.nvidia.com"), until=is_bound)

    [claim] = recipe.state().claims
    assert [item["device"] for item in results_of(claim)] == ["gpu-0"]


def test_s1_s_gate_alone_on_a_newer_chart_crash_loops_and_the_pod_says_so(on: Callable[..., Recipe]) -> None:
    recipe = on(**{**VGPU, "labels": {**VGPU["labels"], **PRESENT}})
    assert recipe.install(NEW, "s1").returncode == 0

    reason = recipe.wait(*asking("gpu.nvidia.com"), until=because(Cause.DRIVER_NOT_READY))

    assert reason.cause is Cause.DRIVER_NOT_READY
    assert "CrashLoopBackOff: back-off restarting failed container" in str(reason)
    assert "feature gate ComputeDomainCliques requires IMEXDaemonsWithDNSNames to also be enabled" in str(
        reason
    )


def test_s2_s_taint_keeps_the_driver_away_and_the_job_s_pod_says_so(on: Callable[..., Recipe]) -> None:
    recipe = on(**A100, taints=[SKU])
    assert recipe.install(OLD, "s2").returncode == 0

    reason = recipe.wait(*published("s2"), until=because(Cause.DRIVER_TAINT_NOT_TOLERATED))

    assert str(reason) == (
        "no pod of driver gpu.nvidia.com on node aks-mig-1 because DaemonSet "
        f"{NAMESPACE}/nvidia-dra-driver-gpu-kubelet-plugin does not tolerate its taint sku=gpu:NoSchedule: "
        "add the toleration to the chart's kubeletPlugin.tolerations"
    )


def test_s2_s_class_hands_out_a_whole_gpu_and_the_ignored_key_leaves_compute_domains_on(
    on: Callable[..., Recipe],
) -> None:
    recipe = on(**A100)
    assert recipe.install(OLD, "s2").returncode == 0

    recipe.wait(*published("s2"), until=is_bound)

    state = recipe.state()
    [claim] = state.claims
    [result] = results_of(claim)
    assert result["device"] in WHOLE
    drivers = {item["spec"]["driver"] for item in state.slices}
    assert drivers == {"gpu.nvidia.com", "compute-domain.nvidia.com"}


def test_s2_without_partitions_leaves_a_pod_that_asks_for_one_waiting_and_says_what_is_there(
    on: Callable[..., Recipe],
) -> None:
    recipe = on(**A100)
    assert recipe.install(OLD, "s2").returncode == 0

    reason = recipe.wait(*asking("mig.nvidia.com"), until=because(Cause.SELECTOR_FALSE))

    assert reason.cause is Cause.SELECTOR_FALSE
    assert re.search(r"is false on the nearest one, aks-mig-1/gpu-[0-7], whose type is gpu", str(reason))
    assert "the GPUs of node aks-mig-1 are whole: nvidia.com/mig.config is all-disabled" in str(reason)


def test_s2_s_operator_makes_no_partitions_and_the_job_holds_a_whole_gpu(on: Callable[..., Recipe]) -> None:
    recipe = on(**DRIVERLESS)
    operator = recipe.install(OPERATOR, "s2")
    assert operator.returncode == 0, operator.stderr
    assert recipe.install(OLD, "s2").returncode == 0

    recipe.wait(*published("s2"), until=is_bound_and_its_node_has_a_layout)

    state = recipe.state()
    [claim] = state.claims
    [result] = results_of(claim)
    assert result["device"] in WHOLE
    [node] = state.nodes
    assert node["metadata"]["labels"]["nvidia.com/mig.config"] == "all-disabled"


def test_s2_s_operator_tolerates_no_taint_of_its_pool(on: Callable[..., Recipe]) -> None:
    recipe = on(**DRIVERLESS, taints=[SKU])
    assert recipe.install(OPERATOR, "s2").returncode == 0
    assert recipe.install(OLD, "s2").returncode == 0

    reason = recipe.wait(*published("s2"), until=because(Cause.DRIVER_LABEL_MISSING))

    assert reason.cause is Cause.DRIVER_LABEL_MISSING
    assert "no pod of driver gpu.nvidia.com on node aks-mig-1 because it has none of the labels" in str(
        reason
    )
