"""The DaemonSet that installs the NVIDIA driver on GKE nodes whose pools leave that to us.

It follows Google's own manifests, apart from three things: it is held to the pools it is for, so that nodes
of several kinds can live in one cluster; it may be evicted, so that an idle node can go
(https://github.com/GoogleCloudPlatform/kubernetes-engine-samples/issues/1740); it does not cut GPUs into
partitions. Source: https://github.com/GoogleCloudPlatform/container-engine-accelerators
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from dra_fleet.clouds.common.machines import short_hash
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.plan import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.gke.facts import GkeInstaller

NAMESPACE = "kube-system"
_NAME = "nvidia-driver-installer"
_PAUSE = "gke.gcr.io/pause:3.8"
_EVICTABLE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
_INSTALL_LATEST = """\
set -e
if lsmod | grep nvidia; then
  echo "GPU driver is already installed"
  exit 0
fi
/cos-gpu-installer install --version=latest
chmod 755 /root/home/kubernetes/bin/nvidia
"""
_NOTE_MACHINE = """\
set -e
url=http://metadata.google.internal/computeMetadata/v1/instance/machine-type
machine=$(curl --fail --retry 5 --header Metadata-Flavor:Google "$url")
echo "${machine##*/}" > /etc/nvidia/machine_type.txt
"""
"""The daemons of a vGPU read there which part of a GPU they serve."""
_COS_MOUNTS = {
    "dev": ("/dev", "/dev"),
    "vulkan-icd-mount": ("/home/kubernetes/bin/nvidia/vulkan/icd.d", "/etc/vulkan/icd.d"),
    "nvidia-install-dir-host": ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia"),
    "root-mount": ("/", "/root"),
    "cos-tools": ("/var/lib/cos-tools", "/build/cos-tools"),
}
_DAEMON_MOUNTS = {"nvidia-config": ("/etc/nvidia", "/etc/nvidia")}
_UBUNTU_MOUNTS = {"dev": ("/dev", "/dev"), "boot": ("/boot", "/boot"), "root-mount": ("/", "/root")}
_COS_ENVIRONMENT = {
    "NVIDIA_INSTALL_DIR_HOST": "/home/kubernetes/bin/nvidia",
    "NVIDIA_INSTALL_DIR_CONTAINER": "/usr/local/nvidia",
    "VULKAN_ICD_DIR_HOST": "/home/kubernetes/bin/nvidia/vulkan/icd.d",
    "VULKAN_ICD_DIR_CONTAINER": "/etc/vulkan/icd.d",
    "ROOT_MOUNT_DIR": "/root",
    "COS_TOOLS_DIR_HOST": "/var/lib/cos-tools",
    "COS_TOOLS_DIR_CONTAINER": "/build/cos-tools",
}


def driver_installer(
    name: str, installer: str, pools: Sequence[str], opts: pulumi.ResourceOptions
) -> apps.DaemonSet:
    """Declare the installer of some pools. Its name is this stack's own: others may adopt the same cluster.

    Args:
        name: the resource's logical name.
        installer: the installer's name in the catalogue.
        pools: names of the pools whose nodes it is for.
        opts: with the cluster's provider.
    """
    facts = gke_facts().installer(installer)
    stack = short_hash(f"{pulumi.get_project()}/{pulumi.get_stack()}/{name}")
    own = f"{_NAME}-{installer}-{stack}"
    labels = {"k8s-app": own}
    return apps.DaemonSet(
        name,
        metadata=meta.ObjectMetaArgs(name=own, namespace=NAMESPACE, labels=labels),
        spec=apps.DaemonSetSpecArgs(
            selector=meta.LabelSelectorArgs(match_labels=labels),
            update_strategy=apps.DaemonSetUpdateStrategyArgs(type="RollingUpdate"),
            template=core.PodTemplateSpecArgs(
                metadata=meta.ObjectMetaArgs(labels=labels, annotations=_EVICTABLE),
                spec=_pod(facts, pools),
            ),
        ),
        opts=opts,
    )


def _pod(facts: GkeInstaller, pools: Sequence[str]) -> core.PodSpecArgs:
    is_cos = facts.image == "COS_CONTAINERD"
    mounts = _COS_MOUNTS if is_cos else _UBUNTU_MOUNTS
    if facts.daemon:
        mounts = {**mounts, **_DAEMON_MOUNTS}
    return core.PodSpecArgs(
        priority_class_name="system-node-critical",
        affinity=core.AffinityArgs(node_affinity=_nodes(pools)),
        tolerations=[core.TolerationArgs(operator="Exists")],
        host_network=True if is_cos else None,
        host_pid=True if is_cos else None,
        volumes=[
            core.VolumeArgs(name=volume, host_path=core.HostPathVolumeSourceArgs(path=host))
            for volume, (host, _) in mounts.items()
        ],
        init_containers=[_installing(facts, mounts, _COS_ENVIRONMENT if is_cos else {})],
        containers=[*_daemons(facts), core.ContainerArgs(name="pause", image=_PAUSE)],
    )


def _nodes(pools: Sequence[str]) -> core.NodeAffinityArgs:
    """Nodes of these pools that have GPUs and whose driver GKE does not manage."""
    rules = [
        core.NodeSelectorRequirementArgs(key="cloud.google.com/gke-accelerator", operator="Exists"),
        core.NodeSelectorRequirementArgs(
            key="cloud.google.com/gke-gpu-driver-version", operator="DoesNotExist"
        ),
        core.NodeSelectorRequirementArgs(key=POOL, operator="In", values=list(pools)),
    ]
    return core.NodeAffinityArgs(
        required_during_scheduling_ignored_during_execution=core.NodeSelectorArgs(
            node_selector_terms=[core.NodeSelectorTermArgs(match_expressions=rules)]
        )
    )


def _installing(
    facts: GkeInstaller, mounts: Mapping[str, tuple[str, str]], environment: Mapping[str, str]
) -> core.ContainerArgs:
    return core.ContainerArgs(
        name=_NAME,
        image=facts.container,
        image_pull_policy=facts.pull_policy,
        command=_command(facts),
        security_context=core.SecurityContextArgs(privileged=True),
        resources=core.ResourceRequirementsArgs(requests={"cpu": "150m"}),
        env=[core.EnvVarArgs(name=key, value=value) for key, value in environment.items()],
        volume_mounts=_mounted(mounts),
    )


def _command(facts: GkeInstaller) -> list[str] | None:
    """What the installer runs; None where its image knows by itself."""
    if facts.version != "latest":
        return None
    return ["bash", "-c", (_NOTE_MACHINE if facts.daemon else "") + _INSTALL_LATEST]


def _daemons(facts: GkeInstaller) -> list[core.ContainerArgs]:
    if facts.daemon is None:
        return []
    mounts = {key: _COS_MOUNTS[key] for key in ("nvidia-install-dir-host", "root-mount", "dev")}
    environment = {
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64",
        **{key: _COS_ENVIRONMENT[key] for key in ("NVIDIA_INSTALL_DIR_HOST", "ROOT_MOUNT_DIR")},
    }
    return [
        core.ContainerArgs(
            name="nvidia-daemon-installer",
            image=facts.daemon,
            security_context=core.SecurityContextArgs(privileged=True),
            env=[core.EnvVarArgs(name=key, value=value) for key, value in environment.items()],
            volume_mounts=_mounted({**mounts, **_DAEMON_MOUNTS}),
        )
    ]


def _mounted(mounts: Mapping[str, tuple[str, str]]) -> list[core.VolumeMountArgs]:
    return [core.VolumeMountArgs(name=volume, mount_path=inside) for volume, (_, inside) in mounts.items()]
