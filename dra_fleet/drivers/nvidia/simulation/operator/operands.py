"""The objects that the operator makes for a ClusterPolicy: DaemonSets with what their pods need.

Names, selectors, init containers and accounts are those of the operator's own assets:
https://github.com/NVIDIA/gpu-operator/tree/v25.10.0/assets
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.simulation.operator import mig_config
from dra_fleet.drivers.nvidia.simulation.operator.features import BUILT_IN_CONFIG, Component
from dra_fleet.drivers.nvidia.simulation.operator.labels import DEPLOY, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.nvidia.simulation.operator.features import Policy

HASH: Final = "nvidia.com/last-applied-hash"
MIG_VOLUME: Final = "mig-parted-config"
PLUGIN_VOLUME: Final = "device-plugin-config"
DRIVER_VALIDATION: Final = "driver-validation"
_DRIVER_VOLUME: Final = "driver-install-dir"
_RBAC: Final = "rbac.authorization.k8s.io"
_NODES: Final = {
    "apiGroups": [""],
    "resources": ["nodes"],
    "verbs": ["get", "list", "watch", "update", "patch"],
}
_READ_NODES: Final = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}
_PODS: Final = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
_EVICT: Final = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
_CONFIG_MAPS: Final = {
    "apiGroups": [""],
    "resources": ["configmaps"],
    "verbs": ["get", "list", "watch", "create", "update"],
}


class Operand(Struct, frozen=True, kw_only=True):
    """A DaemonSet of the operator.

    Args:
        name: the DaemonSet's, and the `app` label of its pods.
        deploy: the part of the node label that lets its pods onto a node.
        container: the name of its container.
        role: the program it runs.
        waits: its init containers, which wait for other operands.
        uses_runtime: True if its containers need the NVIDIA container runtime.
        rules: cluster-wide rights of its account.
    """

    name: str
    deploy: str
    container: str
    role: Role
    waits: tuple[str, ...] = ("toolkit-validation",)
    uses_runtime: bool = True
    rules: tuple[Object, ...] = ()

    @property
    def account(self) -> str:
        """Its pods' ServiceAccount."""
        return f"nvidia-{self.deploy}"


OPERANDS: Final = (
    Operand(
        name="nvidia-driver-daemonset",
        deploy="driver",
        container="nvidia-driver-ctr",
        role=Role.DRIVER,
        waits=("k8s-driver-manager",),
        uses_runtime=False,
        rules=(_NODES, _PODS, _EVICT),
    ),
    Operand(
        name="nvidia-container-toolkit-daemonset",
        deploy="container-toolkit",
        container="nvidia-container-toolkit-ctr",
        role=Role.TOOLKIT,
        waits=(DRIVER_VALIDATION,),
        uses_runtime=False,
    ),
    Operand(
        name="nvidia-operator-validator",
        deploy="operator-validator",
        container="nvidia-operator-validator",
        role=Role.VALIDATOR,
        waits=(DRIVER_VALIDATION, "toolkit-validation"),
    ),
    Operand(
        name="nvidia-device-plugin-daemonset",
        deploy="device-plugin",
        container="nvidia-device-plugin",
        role=Role.DEVICE_PLUGIN,
        rules=(_READ_NODES,),
    ),
    Operand(name="nvidia-dcgm", deploy="dcgm", container="nvidia-dcgm-ctr", role=Role.DCGM),
    Operand(
        name="nvidia-dcgm-exporter",
        deploy="dcgm-exporter",
        container="nvidia-dcgm-exporter",
        role=Role.DCGM_EXPORTER,
    ),
    Operand(
        name="gpu-feature-discovery",
        deploy="gpu-feature-discovery",
        container="gpu-feature-discovery",
        role=Role.FEATURE_DISCOVERY,
    ),
    Operand(
        name="nvidia-mig-manager",
        deploy="mig-manager",
        container="nvidia-mig-manager",
        role=Role.MIG_MANAGER,
        rules=(_NODES, _PODS),
    ),
)


def component_of(operand: Operand, policy: Policy) -> Component:
    """Return the operand's part of the policy."""
    return {
        Role.DRIVER: policy.driver,
        Role.TOOLKIT: policy.toolkit,
        Role.VALIDATOR: policy.validator,
        Role.DEVICE_PLUGIN: policy.device_plugin,
        Role.DCGM: policy.dcgm,
        Role.DCGM_EXPORTER: policy.dcgm_exporter,
        Role.FEATURE_DISCOVERY: policy.feature_discovery,
        Role.MIG_MANAGER: policy.mig_manager,
    }[operand.role]


def objects_of(operand: Operand, policy: Policy, namespace: str) -> list[Object]:
    """Return all objects of an operand, its DaemonSet last."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": operand.account, "namespace": namespace},
    }
    objects: list[Object] = [account]
    if operand.rules:
        objects += _grant("ClusterRole", {"name": operand.account}, namespace, operand.rules)
    if operand.role is Role.MIG_MANAGER:
        objects += _mig_objects(operand, policy, namespace)
    objects.append(_daemonset(operand, policy, namespace))
    return [_owned(item, policy) for item in objects]


def runtime_class(policy: Policy) -> Object:
    """Return the RuntimeClass that the operands' pods name."""
    name = policy.runtime_class
    return _owned(
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name},
        policy,
    )


def hash_of(body: Object) -> str:
    """Return a digest of an object's content, to detect changes."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]


def _mig_objects(operand: Operand, policy: Policy, namespace: str) -> list[Object]:
    """Return the built-in configurations, or the right to write those of each node."""
    if policy.mig_manager.config_map != BUILT_IN_CONFIG:
        return []
    if policy.config_per_node:
        return _grant("Role", {"name": operand.account, "namespace": namespace}, namespace, (_CONFIG_MAPS,))
    listed = (model for model in nvidia_facts.gpus().values() if model.mig and model.mig.pci_ids)
    text = mig_config.built_in(listed)
    meta = {"name": BUILT_IN_CONFIG, "namespace": namespace}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"config.yaml": text}}]


def _grant(kind: str, meta: Object, namespace: str, rules: Iterable[Object]) -> list[Object]:
    """Return a Role or ClusterRole, and its binding to the account of the same name."""
    subject = {"kind": "ServiceAccount", "name": meta["name"], "namespace": namespace}
    reference = {"apiGroup": _RBAC, "kind": kind, "name": meta["name"]}
    binding: Object = {"apiVersion": f"{_RBAC}/v1", "kind": f"{kind}Binding", "metadata": meta}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": meta, "rules": list(rules)},
        {**binding, "subjects": [subject], "roleRef": reference},
    ]


def _daemonset(operand: Operand, policy: Policy, namespace: str) -> Object:
    selector = {"app": operand.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": operand.name, "namespace": namespace, "labels": selector},
        "spec": {
            "selector": {"matchLabels": selector},
            "updateStrategy": {"type": "OnDelete" if operand.role is Role.DRIVER else "RollingUpdate"},
            "template": {
                "metadata": {
                    "labels": {**policy.pod_labels, **selector},
                    "annotations": dict(policy.pod_annotations),
                },
                "spec": _pod_spec(operand, policy),
            },
        },
    }


def _pod_spec(operand: Operand, policy: Policy) -> Object:
    component = component_of(operand, policy)
    spec: Object = {
        "serviceAccountName": operand.account,
        "priorityClassName": policy.priority_class,
        "nodeSelector": {f"{DEPLOY}{operand.deploy}": "true"},
        "tolerations": list(policy.tolerations),
        "initContainers": [_init(name, policy) for name in operand.waits],
        "containers": [
            {
                "name": operand.container,
                "image": _image(operand, component),
                "command": [operand.role.value],
                "env": [*_environment(operand, policy), *component.env],
                "securityContext": {"privileged": True},
            }
        ],
    }
    if DRIVER_VALIDATION in operand.waits:
        spec["volumes"] = [{"name": _DRIVER_VOLUME, "hostPath": {"path": policy.driver_install_dir}}]
    if operand.uses_runtime:
        spec["runtimeClassName"] = policy.runtime_class
    uses_file = policy.mig_manager.config_map != BUILT_IN_CONFIG or not policy.config_per_node
    if operand.role is Role.MIG_MANAGER and uses_file:
        spec["volumes"] = [{"name": MIG_VOLUME, "configMap": {"name": policy.mig_manager.config_map}}]
        spec["containers"][0]["volumeMounts"] = [{"name": MIG_VOLUME, "mountPath": "/mig-parted-config"}]
    if operand.role is Role.DEVICE_PLUGIN and policy.plugin_config:
        # https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/object_controls.go, config-manager
        spec["volumes"] = [{"name": PLUGIN_VOLUME, "configMap": {"name": policy.plugin_config}}]
        spec["containers"][0]["env"].append({"name": "DEFAULT_CONFIG", "value": policy.default_plugin_config})
    return spec


def _image(operand: Operand, component: Component) -> str:
    return f"{component.image}-ubuntu24.04" if operand.role is Role.DRIVER else component.image


def _init(name: str, policy: Policy) -> Object:
    if name == "k8s-driver-manager":
        manager = policy.driver_manager
        return {"name": name, "image": manager.image, "command": ["driver-manager"], "env": list(manager.env)}
    # https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/object_controls.go#L881-L908
    mounts = [{"name": _DRIVER_VOLUME, "mountPath": policy.driver_install_dir}]
    return {
        "name": name,
        "image": policy.validator.image,
        "command": ["nvidia-validator"],
        "env": [{"name": "COMPONENT", "value": name.removesuffix("-validation")}],
        **({"volumeMounts": mounts} if name == DRIVER_VALIDATION else {}),
        "securityContext": {"privileged": True},
    }


def _environment(operand: Operand, policy: Policy) -> list[Object]:
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    match operand.role:
        case Role.DEVICE_PLUGIN | Role.FEATURE_DISCOVERY:
            return [node, {"name": "MIG_STRATEGY", "value": policy.mig_strategy}]
        case Role.TOOLKIT:
            return [node, {"name": "CONTAINERD_RUNTIME_CLASS", "value": policy.runtime_class}]
        case _:
            return [node]


def _owned(body: Object, policy: Policy) -> Object:
    owner = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "name": policy.name,
        "uid": policy.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    meta = {**body["metadata"], "ownerReferences": [owner], "annotations": {HASH: hash_of(body)}}
    return {**body, "metadata": meta}
