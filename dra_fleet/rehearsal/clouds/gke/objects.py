"""What GKE puts into every cluster before anybody else: the kind ComputeClass.

https://cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass
"""

from __future__ import annotations

from typing import Any, Final

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
OF_EVERY_CLUSTER: Final[list[dict[str, Any]]] = [
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
