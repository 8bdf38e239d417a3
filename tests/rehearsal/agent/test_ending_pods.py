import json
from pathlib import Path

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.rehearsal.agent.kubelet import FINISH
from tests.rehearsal.agent.agent_cluster import AgentCluster, claiming_pod, template

pytestmark = pytest.mark.engine


def hooked_chart(folder: Path) -> Path:
    """A chart whose every action waits for a hook: Jobs as the GPU Operator's, and a bare Pod."""
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]}
    hooks = {"pre-install": "Job", "pre-upgrade": "Pod", "pre-delete": "Job", "post-delete": "Job"}
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: hooked\nversion: 1.0.0\n")
    for hook, kind in hooks.items():
        body = {
            "apiVersion": "batch/v1" if kind == "Job" else "v1",
            "kind": kind,
            "metadata": {"name": hook, "annotations": {"helm.sh/hook": hook}},
            "spec": {"template": {"spec": spec}} if kind == "Job" else spec,
        }
        (folder / "templates" / f"{hook}.yaml").write_text(json.dumps(body))
    return folder


def test_a_release_with_hooks_is_installed_upgraded_and_uninstalled(
    agent_cluster: AgentCluster, tmp_path: Path
) -> None:
    namespace, chart = agent_cluster.namespace(), hooked_chart(tmp_path)
    for _ in ("install", "upgrade"):
        agent_cluster.helm("upgrade", "--install", "hooked", str(chart), "-n", namespace, "--timeout", "120s")
    agent_cluster.helm("uninstall", "hooked", "-n", namespace, "--timeout", "120s")
    ended = [pod["status"]["phase"] for pod in agent_cluster.items("v1", "Pod", namespace)]
    assert ended == ["Succeeded"] * 4


def test_the_pod_of_a_job_that_holds_a_device_stays(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    pod = claiming_pod(namespace, "unused", "whole", restartPolicy="Never")
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "training", "namespace": namespace},
        "spec": {"template": {"spec": pod["spec"]}},
    }
    agent_cluster.create(template(namespace), job)

    def running() -> list[Object]:
        pods = agent_cluster.items("v1", "Pod", namespace)
        return [item for item in pods if item["status"]["phase"] == "Running"]

    (training,) = agent_cluster.eventually("it runs", running)
    assert FINISH not in training["metadata"]["annotations"]
    agent_cluster.run(lambda api: api.delete("batch/v1", "Job", "training", namespace))
    agent_cluster.run(lambda api: api.delete("v1", "Pod", training["metadata"]["name"], namespace))


def test_a_finished_pod_gives_its_device_back_and_can_be_removed(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    agent_cluster.create(
        template(namespace, count=2), claiming_pod(namespace, "first", "whole", restartPolicy="Never")
    )
    agent_cluster.eventually("it runs", lambda: agent_cluster.is_running(namespace, "first"))
    finish = {"metadata": {"annotations": {FINISH: "true"}}}
    agent_cluster.run(lambda api: api.merge("v1", "Pod", "first", finish, namespace=namespace))
    agent_cluster.create(claiming_pod(namespace, "second", "whole"))
    agent_cluster.eventually("the second runs", lambda: agent_cluster.is_running(namespace, "second"))
    agent_cluster.run(lambda api: api.delete("v1", "Pod", "first", namespace))
    agent_cluster.run(lambda api: api.delete("v1", "Pod", "second", namespace))
    agent_cluster.eventually("the first is gone", lambda: agent_cluster.pod(namespace, "first") is None)
    agent_cluster.eventually("the second is gone", lambda: agent_cluster.pod(namespace, "second") is None)


def test_a_pod_without_claims_runs_at_its_own_address_and_is_deleted(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    for name in ("one", "other"):
        pod = claiming_pod(namespace, name, "plain", resourceClaims=[])
        pod["spec"]["containers"][0]["resources"] = {}
        agent_cluster.create(pod)
    addresses: set[str] = set()
    for name in ("one", "other"):
        agent_cluster.eventually("it runs", lambda name=name: agent_cluster.is_running(namespace, name))
        status = (agent_cluster.pod(namespace, name) or {})["status"]
        assert [item["status"] for item in status["conditions"] if item["type"] == "Ready"] == ["True"]
        assert [item["state"].keys() for item in status["containerStatuses"]] == [{"running": 0}.keys()]
        addresses.add(status["podIP"])
        agent_cluster.run(lambda api, name=name: api.delete("v1", "Pod", name, namespace))
        agent_cluster.eventually("it is gone", lambda name=name: agent_cluster.pod(namespace, name) is None)
    assert len(addresses) == 2


def test_a_pod_that_cannot_be_prepared_waits_in_its_kubelets_words(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    config = {"driver": "gpu.nvidia.com", "parameters": {"kind": "Nothing"}}
    devices = {"config": [{"opaque": config}]}
    agent_cluster.create(template(namespace, devices=devices), claiming_pod(namespace, "pod", "whole"))

    def waiting() -> list[Object]:
        pod = agent_cluster.pod(namespace, "pod") or {}
        return [item["state"] for item in pod["status"].get("containerStatuses", [])]

    assert agent_cluster.eventually("it waits", waiting) == [{"waiting": {"reason": "ContainerCreating"}}]
    assert not agent_cluster.is_running(namespace, "pod")
    agent_cluster.run(lambda api: api.delete("v1", "Pod", "pod", namespace))
    agent_cluster.eventually("it is gone", lambda: agent_cluster.pod(namespace, "pod") is None)
