"""Hosts, pods and policies for tests of the simulated GPU Operator."""

from typing import Any

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.nvidia.simulation.operator import features
from dra_fleet.drivers.nvidia.simulation.operator.features import Policy
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role
from dra_fleet.drivers.nvidia.simulation.operator.operands import OPERANDS, objects_of
from dra_fleet.rehearsal.simulator.hardware_file import ClusterHardware
from dra_fleet.rehearsal.simulator.node import Host

NAMESPACE = "gpu-operator"
VERSION = "v25.10.0"


def host(model: str = "A100-SXM4-80GB", count: int = 2, *, nvidia: dict[str, Any] | None = None) -> Host:
    """A machine; with `nvidia` it has a driver."""
    node: dict[str, Any] = {"name": "n1", "nvidia": nvidia}
    if count:
        node["gpus"] = {"model": model, "count": count}
    return ClusterHardware.model_validate({"kubernetes": "v1.36.3", "nodes": [node]}).hosts()[0]


def policy_object(**spec: Any) -> Object:
    """A ClusterPolicy object."""
    meta = {"name": "cluster-policy", "uid": "policy-uid", "creationTimestamp": "2026-11-21T00:00:00Z"}
    return {"apiVersion": features.API, "kind": features.KIND, "metadata": meta, "spec": spec}


def read_policy(version: str = VERSION, **spec: Any) -> Policy:
    """The policy in such an object."""
    return features.read(policy_object(**spec), version)


def daemonset_of(role: Role, now: Policy) -> Object:
    """The DaemonSet of one operand."""
    operand = next(item for item in OPERANDS if item.role is role)
    return objects_of(operand, now, NAMESPACE)[-1]


def pod_of(role: Role, *, ready: bool = False, now: Policy | None = None) -> Object:
    """A pod of an operand's DaemonSet on node n1."""
    template = daemonset_of(role, now or read_policy())["spec"]["template"]
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    return {
        "metadata": {**template["metadata"], "name": role.value, "namespace": NAMESPACE, "uid": role.value},
        "spec": {**template["spec"], "nodeName": "n1"},
        "status": {"conditions": conditions},
    }
