"""What GKE puts into every cluster before anybody else: the kind ComputeClass, and its own DRANET.

https://cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass
https://cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
"""

from __future__ import annotations

from typing import Any, Final

from dra_fleet.clouds.gke import DRANET
from dra_fleet.clouds.gke.facts import gke_facts

_FREE: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SPEC: Final = {
    "type": "object",
    "required": ["priorities"],
    "properties": {
        "priorities": {"type": "array", "minItems": 1, "items": _FREE},
        "priorityDefaults": _FREE,
        "activeMigration": _FREE,
        "autoscalingPolicy": _FREE,
        "nodePoolAutoCreation": _FREE,
        "nodePoolConfig": _FREE,
        "whenUnsatisfiable": {"type": "string", "enum": ["ScaleUpAnyway", "DoNotScaleUp"]},
    },
}
_COMPUTE_CLASSES: Final[list[dict[str, Any]]] = [
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "computeclasses.cloud.google.com"},
        "spec": {
            "group": "cloud.google.com",
            "scope": "Cluster",
            "names": {
                "kind": "ComputeClass",
                "plural": "computeclasses",
                "singular": "computeclass",
                "listKind": "ComputeClassList",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": _SPEC, "status": _FREE},
                        }
                    },
                }
            ],
        },
    },
]
_DRIVER: Final = "networking-dra-driver"
_NAMESPACE: Final = f"gke-managed-{_DRIVER}"
_APP: Final = {"k8s-app": _DRIVER}
# What DRANET's chart gives it: https://github.com/kubernetes-sigs/dranet, deployments/helm/dranet
_RULES: Final = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceslices"],
        "verbs": ["list", "watch", "create", "update", "delete"],
    },
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "deviceclasses"], "verbs": ["get"]},
]
_POD: Final = {
    "serviceAccountName": _DRIVER,
    "hostNetwork": True,
    "priorityClassName": "system-node-critical",
    "nodeSelector": {DRANET: "true"},
    "tolerations": [{"operator": "Exists"}],
    "containers": [{"name": _DRIVER, "image": f"gke.gcr.io/{_DRIVER}", "command": ["/dranet"]}],
}
_ROLE: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _DRIVER}


def _networking() -> list[dict[str, Any]]:
    """GKE's build of DRANET, which comes to the nodes of pools with its label, and its classes."""
    here = {"name": _DRIVER, "namespace": _NAMESPACE}
    classes = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": item.name},
            "spec": {"selectors": [{"cel": {"expression": item.cel}}]},
        }
        for item in gke_facts().dranet_classes
    ]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": _DRIVER},
            "rules": _RULES,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _DRIVER},
            "roleRef": _ROLE,
            "subjects": [{"kind": "ServiceAccount", **here}],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": here,
            "spec": {
                "selector": {"matchLabels": _APP},
                "template": {"metadata": {"labels": _APP}, "spec": _POD},
            },
        },
        *classes,
    ]


def of_every_cluster(version: str) -> list[dict[str, Any]]:
    """What a cluster has from the start.

    Args:
        version: GKE's, such as 1.35.8-gke.1036000.
    """
    facts = gke_facts()
    has_dranet = (facts.numbers(version) or ()) >= (facts.numbers(facts.floor("dranet").version) or ())
    return [*_COMPUTE_CLASSES, *(_networking() if has_dranet else ())]
