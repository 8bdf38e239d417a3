from typing import Any

from dra_fleet.clusters.allocation import WORKLOAD, ClusterAllocation
from dra_fleet.clusters.pending.state import ClusterState
from dra_fleet.rehearsal.status import ClusterStatus, StackStatus, other_pods_pending, plugin_not_started


def plugin(*, ready: bool) -> dict[str, Any]:
    condition = {"type": "Ready", "status": str(ready)}
    waiting = {"name": "gpus", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "no driver"}}}
    return {
        "metadata": {"name": "p", "namespace": "d"},
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "gpus", "command": ["bash", "-c"], "args": ["gpu-kubelet-plugin -v 4"]}],
        },
        "status": {"conditions": [condition], "containerStatuses": [] if ready else [waiting]},
    }


def test_a_plugin_that_never_started_is_named_with_its_node_and_its_cause() -> None:
    assert plugin_not_started(plugin(ready=False)) == (
        "the plugin of gpu.nvidia.com on node n1 has not started, so its devices are missing: "
        "CrashLoopBackOff: no driver"
    )


def test_a_plugin_whose_slices_are_refused_runs_and_is_named() -> None:
    logged = "processing ResourceSlice objects of gpu.nvidia.com: is forbidden"
    refused = plugin(ready=True)
    refused["metadata"]["annotations"] = {"rehearsal.dra-fleet/refused-slices": logged}
    assert plugin_not_started(refused) == (
        "the plugin of gpu.nvidia.com on node n1 runs, but its devices are missing, for the API server "
        f"refuses its slices: {logged}"
    )


def test_nothing_is_said_of_a_plugin_that_runs_or_of_another_pod() -> None:
    other = {**plugin(ready=False), "spec": {"nodeName": "n1", "containers": [{"name": "web"}]}}
    assert (plugin_not_started(plugin(ready=True)), plugin_not_started(other)) == ("", "")


def test_a_stack_whose_plugin_does_not_run_is_not_complete() -> None:
    nothing = ClusterAllocation(pools={}, workloads={})

    def stack(*output: str) -> StackStatus:
        cluster = ClusterStatus(kubernetes="v1.36.3", allocation=nothing, plugins_not_started=output)
        return StackStatus(clusters={"lab": cluster})

    assert stack().complete
    assert not stack("the plugin of x").complete
    assert stack("the plugin of x").plugins_not_started == ["cluster lab: the plugin of x"]


def test_pending_pods_that_the_stack_did_not_declare_are_listed_with_their_cause() -> None:
    def pod(name: str, phase: str, **labels: str) -> dict[str, Any]:
        return {
            "metadata": {"name": name, "namespace": "lab", "labels": labels},
            "spec": {"containers": [{"name": "c"}], "nodeSelector": {"example.com/pool": "none"}},
            "status": {"phase": phase},
        }

    pods = [
        pod("by-hand", "Pending"),
        pod("running", "Running"),
        pod("train-0", "Pending", **{WORKLOAD: "train"}),
    ]
    node: dict[str, Any] = {"metadata": {"name": "n1", "labels": {}}, "spec": {}, "status": {}}
    state = ClusterState(minor="1.36", nodes=[node], pods=pods, slices=[], claims=[])
    (sentence,) = other_pods_pending(state, {"train": ("lab", 1)})
    assert sentence.startswith("pod lab/by-hand is Pending: ")
    assert "example.com/pool" in sentence
