"""The objects around a ComputeDomain: labels, finalizers, templates and the DaemonSet of its daemons.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/compute-domain-controller` and
`templates`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.nvidia.devices import COMPUTE_DOMAIN_DRIVER
from dra_fleet.drivers.nvidia.labels import API, CHANNEL_CLASS, CHANNEL_REQUEST

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

DOMAIN: Final = "resource.nvidia.com/computeDomain"
"""Label with a ComputeDomain's UID on what belongs to it and on the nodes that take part; a finalizer."""
CLIQUE: Final = "resource.nvidia.com/computeDomain.cliqueID"
TARGET: Final = "resource.nvidia.com/computeDomainTarget"
CLIQUE_KIND: Final = "ComputeDomainClique"
DAEMON_ACCOUNT: Final = "compute-domain-daemon-service-account"
DAEMON: Final = "compute-domain-daemon"
CONTROLLER: Final = "compute-domain-controller"
_DAEMON_CLASS: Final = "compute-domain-daemon.nvidia.com"


def runs(pod: Object, binary: str) -> bool:
    """Return True if a container of a pod runs a binary."""
    return any(
        word.rpartition("/")[2] == binary
        for container in pod["spec"]["containers"]
        for word in (*container.get("command", []), *container.get("args", []))
    )


def daemon_name(domain: Object) -> str:
    """Return the name of a domain's DaemonSet and of the template of its claims."""
    return f"computedomain-daemon-{domain['metadata']['uid']}"


def daemon_template(domain: Object, namespace: str) -> Object:
    config = {"kind": "ComputeDomainDaemonConfig"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _metadata(domain, daemon_name(domain), namespace, "Daemon"),
        "spec": {"spec": _claim(domain, "daemon", _DAEMON_CLASS, config)},
    }


def channel_template(domain: Object) -> Object:
    """Return the ResourceClaimTemplate of a domain's pods, in the domain's namespace."""
    channel = domain["spec"]["channel"]
    config = {"kind": "ComputeDomainChannelConfig", "allocationMode": channel.get("allocationMode", "Single")}
    name, namespace = channel["resourceClaimTemplate"]["name"], domain["metadata"]["namespace"]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _metadata(domain, name, namespace, "Workload"),
        "spec": {"spec": _claim(domain, CHANNEL_REQUEST, CHANNEL_CLASS, config)},
    }


def _metadata(domain: Object, name: str, namespace: str, target: str) -> Object:
    labels = {DOMAIN: domain["metadata"]["uid"], TARGET: target}
    return {"name": name, "namespace": namespace, "finalizers": [DOMAIN], "labels": labels}


def _claim(domain: Object, request: str, device_class: str, config: Object) -> Object:
    opaque = {
        "driver": COMPUTE_DOMAIN_DRIVER,
        "parameters": {"apiVersion": API, "domainID": domain["metadata"]["uid"], **config},
    }
    return {
        "devices": {
            "requests": [{"name": request, "exactly": {"deviceClassName": device_class}}],
            "config": [{"requests": [request], "opaque": opaque}],
        }
    }


def daemon_set(domain: Object, namespace: str, image: str, gates: str) -> Object:
    """Return the DaemonSet of a domain's daemons: one on every node that has the domain's label."""
    label = {DOMAIN: domain["metadata"]["uid"]}
    environment: list[Object] = [{"name": "FEATURE_GATES", "value": gates}] if gates else []
    effects = ("NoSchedule", "NoExecute", "PreferNoSchedule")
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": daemon_name(domain),
            "namespace": namespace,
            "finalizers": [DOMAIN],
            "labels": label,
        },
        "spec": {
            "selector": {"matchLabels": label},
            "template": {
                "metadata": {"labels": label},
                "spec": {
                    "serviceAccountName": DAEMON_ACCOUNT,
                    "nodeSelector": label,
                    "tolerations": [{"operator": "Exists", "effect": effect} for effect in effects],
                    "resourceClaims": [{"name": DAEMON, "resourceClaimTemplateName": daemon_name(domain)}],
                    "containers": [
                        {
                            "name": DAEMON,
                            "image": image,
                            "command": [DAEMON, "run"],
                            "env": environment,
                            "resources": {"claims": [{"name": DAEMON}]},
                        }
                    ],
                },
            },
        },
    }
