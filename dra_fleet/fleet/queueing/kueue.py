"""Kueue's chart and the configuration that it starts with.

Source: https://github.com/kubernetes-sigs/kueue/tree/v0.19.0/apis/config/v1beta2 and
https://kueue.sigs.k8s.io/docs/tasks/manage/setup_dra/.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import yaml

from dra_fleet.core.facts import read
from dra_fleet.drivers.common.facts import ChartVersion
from dra_fleet.model.specs import WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME: Final = "kueue"
NAMESPACE: Final = "kueue-system"
API: Final = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
FLAVOR: Final = "devices"
"""The one ResourceFlavor: which nodes have a claim's devices, the scheduler finds out."""
RESERVED: Final = "pods"
"""A name that mappings cannot have: https://github.com/kubernetes-sigs/kueue/pull/13989 (2026-08-14)."""
NAME_IS_FREE: Final = "0.19."
"""Versions that start with a mapping of the reserved name."""
CONFIGURATION: Final = ("managerConfig", "controllerManagerConfigYaml")


@cache
def versions() -> Mapping[str, ChartVersion]:
    entries = [
        ChartVersion.model_validate(entry) for entry in read(__package__ or "", "kueue.yaml")["versions"]
    ]
    return {entry.version: entry for entry in entries}


def chart_values(mappings: Mapping[str, Sequence[str]], namespace: str) -> dict[str, Any]:
    """Return the chart's values for these mappings.

    Args:
        mappings: by name in quotas, the DeviceClasses that it counts.
        namespace: the namespace of the queues' workloads. Kueue's webhook sees only Jobs in it, so that no
            other Job waits for the webhook.
    """
    outer, inner = CONFIGURATION
    return {outer: {inner: yaml.safe_dump(_configuration(mappings, namespace), sort_keys=False)}}


def _configuration(mappings: Mapping[str, Sequence[str]], namespace: str) -> dict[str, Any]:
    """Return the chart's default configuration with these quotas and this namespace's Jobs.

    Quotas count devices: without the exclusions a queue would also need quotas of CPU and memory.
    """
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "clientConnection": {"qps": 300, "burst": 500},
        "managedJobsNamespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "integrations": {"frameworks": ["batch/job"], "labelKeysToCopy": [WORKLOAD]},
        "resources": {
            "excludeResourcePrefixes": ["cpu", "memory"],
            "deviceClassMappings": [
                {"name": name, "deviceClassNames": list(classes)}
                for name, classes in sorted(mappings.items())
            ],
        },
    }
