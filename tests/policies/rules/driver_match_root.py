"""The programs of driver-match-root."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

RELEASE = "kubernetes:helm.sh/v3:Release"
PATH = ("values", "nvidiaDriverRoot")
PLACE = "values.nvidiaDriverRoot"
GKE_ROOT = "/home/kubernetes/bin/nvidia"
OPERATOR_ROOT = "/run/nvidia/driver"


def driver(root: str) -> Declared:
    values = {"nvidiaDriverRoot": root}
    properties = {"chart": "dra-driver-nvidia-gpu", "version": "0.5.0", "values": values}
    return Declared(type=RELEASE, name="driver", properties=properties)


def operator(**values: Any) -> Declared:
    properties = {"chart": "gpu-operator", "version": "v25.10.0", "values": values}
    return Declared(type=RELEASE, name="operator", properties=properties)


def wrong(shown: str, output: str, root: str) -> str:
    return said(
        driver(root),
        f"{PLACE} is {shown}, and {output} has the GPU driver in {root}, so no devices are published there",
        root,
        f'set nvidiaDriverRoot: "{root}"',
    )


def misplaced(value: str, output: str, root: str) -> Break:
    return Break(
        resource="driver",
        path=PATH,
        value=value,
        messages=(wrong(repr(value), output, root),),
        unknown=PLACE,
    )


def aks(choice: str) -> Declared:
    return Declared(
        type="azure-native:containerservice:AgentPool",
        name="pool",
        properties={
            "agentPoolName": "gpus",
            "vmSize": "Standard_NC24ads_A100_v4",
            "nodeLabels": {"nvidia.com/gpu.present": "true"},
            "gpuProfile": {"driver": choice},
        },
    )


def gke(image: str) -> Declared:
    return Declared(
        type="gcp:container/nodePool:NodePool",
        name="gpus",
        properties={
            "nodeConfig": {
                "machineType": "g2-standard-4",
                "imageType": image,
                "labels": {"nvidia.com/gpu.present": "true"},
            }
        },
    )


def eks(image: str) -> Declared:
    return Declared(
        type="aws:eks/nodeGroup:NodeGroup",
        name="gpus",
        properties={"instanceTypes": ["g6.xlarge"], "amiType": image, "labels": {}},
    )


ACK = Declared(
    type="alicloud:cs/nodePool:NodePool",
    name="gpus",
    properties={
        "instanceTypes": ["ecs.gn7i-c8g1.2xlarge"],
        "labels": [
            {"key": "ack.node.gpu.schedule", "value": "disabled"},
            {"key": "nvidia.com/gpu.present", "value": "true"},
        ],
    },
)
OFF = operator(driver={"enabled": False})
MOUNTED = operator(driver={"enabled": False}, hostPaths={"driverInstallDir": OPERATOR_ROOT})
OWN = operator(hostPaths={"driverInstallDir": "/opt/gpu"})
UNLABELLED = Declared(
    type="azure-native:containerservice:AgentPool",
    name="other",
    properties={"vmSize": "Standard_NC24ads_A100_v4", "gpuProfile": {"driver": "Install"}},
)

CASES = (
    RuleCase(
        passing=(driver("/"), aks("Install"), OFF),
        breaks=(
            misplaced(OPERATOR_ROOT, "the pool gpus", "/"),
            Break(
                resource="operator",
                path=("values", "driver", "enabled"),
                value=True,
                messages=(),  # two owners are another rule's finding
            ),
        ),
    ),
    RuleCase(
        passing=(driver(f"{OPERATOR_ROOT}/"), aks("None"), operator()),
        breaks=(
            misplaced("/", "the pool gpus", OPERATOR_ROOT),
            Break(
                resource="driver",
                path=PATH,
                value=REMOVED,
                messages=(wrong("absent", "the pool gpus", OPERATOR_ROOT),),
            ),
            Break(
                resource="pool",
                path=("gpuProfile", "driver"),
                value="Install",
                messages=(wrong(repr(f"{OPERATOR_ROOT}/"), "the pool gpus", "/"),),
                unknown="gpuProfile.driver",
            ),
        ),
    ),
    RuleCase(
        passing=(driver(GKE_ROOT), gke("COS_CONTAINERD")),
        breaks=(
            misplaced("/", "the pool gpus", GKE_ROOT),
            Break(
                resource="gpus",
                path=("nodeConfig", "imageType"),
                value="ubuntu_containerd",
                messages=(wrong(repr(GKE_ROOT), "the pool gpus", "/opt/nvidia"),),
                unknown="nodeConfig.imageType",
            ),
        ),
    ),
    RuleCase(
        passing=(driver("/"), eks("AL2023_x86_64_NVIDIA")),
        breaks=(misplaced(OPERATOR_ROOT, "the pool gpus", "/"),),
    ),
    RuleCase(
        passing=(driver("/"), ACK),
        breaks=(misplaced(OPERATOR_ROOT, "the pool gpus", "/"),),
    ),
    RuleCase(
        passing=(driver("/opt/gpu"), eks("AL2023_x86_64_STANDARD"), OWN),
        breaks=(misplaced("/", "the pool gpus", "/opt/gpu"),),
    ),
    RuleCase(
        passing=(driver(OPERATOR_ROOT), operator()),
        breaks=(misplaced("/", "the GPU Operator (operator)", OPERATOR_ROOT),),
    ),
    RuleCase(passing=(driver("/anywhere"), OFF), breaks=()),
    RuleCase(
        passing=(driver("/"), aks("Install"), MOUNTED),
        breaks=(
            Break(
                resource="operator",
                path=("values", "hostPaths", "driverInstallDir"),
                value="/",
                messages=(
                    said(
                        MOUNTED,
                        "values.hostPaths.driverInstallDir is '/', which the GPU Operator mounts at that "
                        "path into its own pods: no container starts with a mount on its root, so its pods "
                        "and all that wait for them never do",
                        OPERATOR_ROOT,
                        "remove hostPaths.driverInstallDir, also if the host has the GPU driver",
                    ),
                ),
                unknown="values.hostPaths.driverInstallDir",
            ),
        ),
    ),
    RuleCase(passing=(driver("/anywhere"), UNLABELLED), breaks=()),
)
