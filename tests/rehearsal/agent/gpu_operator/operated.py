"""A cluster with the GPU Operator's charts, and verbs that follow what it does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dra_fleet.clusters.client import Object
from tests.charts import chart_folder
from tests.rehearsal.agent.agent_cluster import RESOURCE_API, AgentCluster

STATE = "nvidia.com/mig.config.state"


class Operated(AgentCluster):
    """A cluster with verbs about the operator."""

    def operator(self, files: Path, version: str, values: dict[str, Any]) -> None:
        """Install the operator, or change its values."""
        file = files / "operator.json"
        file.write_text(json.dumps(values))
        chart = chart_folder("gpu-operator", version)
        self.helm(
            *("upgrade", "--install", "gpu-operator", str(chart), "--namespace", "gpu-operator"),
            *("--create-namespace", "--values", str(file)),
        )

    def labels(self, node: str) -> dict[str, str]:
        """A node's labels."""
        return self.run(lambda api: api.get("v1", "Node", node))["metadata"]["labels"]

    def boots(self, node: str) -> int:
        """Return the number of reboots of a machine."""
        info = self.run(lambda api: api.get("v1", "Node", node))["status"]["nodeInfo"]
        return int(info["bootID"].removeprefix(f"boot-{node}").lstrip("-") or 0)

    def until_node(self, node: str, holds: Callable[[Object], bool]) -> Object:
        """Follow a node until something is true of it; the node then."""

        def found(nodes: list[Object]) -> Object | None:
            return next((one for one in nodes if one["metadata"]["name"] == node and holds(one)), None)

        return self.until(f"node {node}", ("v1", "Node"), found)

    def until_labels(self, node: str, holds: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Follow a node's labels until something is true of them; the labels then."""
        return self.until_node(node, lambda found: holds(found["metadata"]["labels"]))["metadata"]["labels"]

    def wait_for_state(self, node: str, state: str) -> None:
        """Wait until the MIG manager reports a state."""
        self.until_labels(node, lambda labels: labels.get(STATE) == state)

    def until_devices(self, node: str, holds: Callable[[list[str]], bool]) -> list[str]:
        """Follow the published devices of a node until something is true of their names; the names then."""

        def found(slices: list[Object]) -> list[str] | None:
            names = _devices(slices, node)
            return names if holds(names) else None

        return self.until(f"devices of {node}", (RESOURCE_API, "ResourceSlice"), found)

    def until_operands(self, node: str, holds: Callable[[set[str]], bool]) -> None:
        """Follow the operator's pods on a node until something is true of their apps."""

        def found(pods: list[Object]) -> bool:
            return holds(_apps(pods, node))

        self.until(f"operands on {node}", ("v1", "Pod"), found, "gpu-operator")

    def until_said(self, reason: str, text: str) -> str:
        """Follow the events of a reason until one has a text; that one."""

        def found(events: list[Object]) -> str | None:
            output = (event["message"] for event in events if event["reason"] == reason)
            return next((message for message in output if text in message), None)

        return self.until(f"an event {reason} with {text!r}", ("v1", "Event"), found, "gpu-operator")

    def until_pod(self, namespace: str, name: str, holds: Callable[[Object | None], bool]) -> None:
        """Follow a pod until something is true of it; None stands for one that is gone."""

        def found(pods: list[Object]) -> bool:
            return holds(next((pod for pod in pods if pod["metadata"]["name"] == name), None))

        self.until(f"pod {name}", ("v1", "Pod"), found, namespace)

    def set_label(self, node: str, key: str, value: str | None) -> None:
        """Change a node's label as an administrator."""
        patch = {"metadata": {"labels": {key: value}}}
        self.run(lambda api: api.merge("v1", "Node", node, patch))

    def operands(self, node: str) -> set[str]:
        """The apps of the operator's pods on a node."""
        return _apps(self.items("v1", "Pod", "gpu-operator"), node)

    def devices(self, node: str) -> list[str]:
        """The devices published for a node."""
        return _devices(self.items(RESOURCE_API, "ResourceSlice"), node)


def _apps(pods: list[Object], node: str) -> set[str]:
    found = (pod["metadata"]["labels"] for pod in pods if pod["spec"].get("nodeName") == node)
    return {labels.get("app") or labels["role"] for labels in found}


def _devices(slices: list[Object], node: str) -> list[str]:
    mine = (item["spec"].get("devices", []) for item in slices if item["spec"]["nodeName"] == node)
    return sorted(device["name"] for devices in mine for device in devices)


def without_leave(pods: list[Object]) -> bool:
    """Return True if the MIG manager of ampere-0 may not reboot."""
    managers = [
        pod
        for pod in pods
        if pod["spec"].get("nodeName") == "ampere-0"
        and pod["metadata"]["name"].startswith("nvidia-mig-manager")
    ]
    return bool(managers) and not any(
        item["name"] == "WITH_REBOOT"
        for pod in managers
        for item in pod["spec"]["containers"][0].get("env", [])
    )


def runs(pod: Object | None) -> bool:
    return pod is not None and pod["status"].get("phase") == "Running"
