"""The programs of pool-limit-scale-from-zero."""

from __future__ import annotations

from typing import Any

from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

KNOWN = ", ".join(entry.name for entry in gke_facts().scale_from_zero.accelerators)
DRIVER = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "dra-driver-nvidia-gpu", "version": "0.5.0"},
)
LABELS = {"nvidia.com/gpu.present": "true", "gke-no-default-nvidia-gpu-device-plugin": "true"}
AKS = Declared(
    type="azure-native:containerservice:AgentPool",
    name="gpus",
    properties={
        "vmSize": "Standard_NC24ads_A100_v4",
        "nodeLabels": LABELS,
        "enableAutoScaling": True,
        "count": 1,
        "minCount": 1,
        "maxCount": 4,
    },
)
GENERIC = Declared(
    type="azure-native:resources:Resource",
    name="gpus",
    properties={
        "resourceType": "agentPools",
        "resourceProviderNamespace": "Microsoft.ContainerService",
        "properties": AKS.properties,
    },
)
EKS = Declared(
    type="aws:eks/nodeGroup:NodeGroup",
    name="gpus",
    properties={
        "instanceTypes": ["g6.xlarge"],
        "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 1},
    },
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
        "scalingConfig": {"enable": True, "minSize": 1, "maxSize": 2},
    },
)


def gke(accelerator: str, fewest: int, **more: Any) -> Declared:
    return Declared(
        type="gcp:container/nodePool:NodePool",
        name="gpus",
        properties={
            "autoscaling": {"minNodeCount": fewest, "maxNodeCount": 4},
            "nodeConfig": {"labels": LABELS, "guestAccelerators": [{"type": accelerator, **more}]},
        },
    )


LARGE = gke("nvidia-b200", 1)
SMALL = gke("nvidia-l4", 0)
CUT = gke("nvidia-tesla-a100", 1, gpuPartitionSize="1g.5gb")
FIXED = Declared(
    type="gcp:container/nodePool:NodePool",
    name="gpus",
    properties={"nodeCount": 0, "nodeConfig": LARGE.properties["nodeConfig"]},
)


def empty(
    declared: Declared, place: str, reason: str, *, shown: str = "0", allowed: str = "1 or more"
) -> str:
    return said(
        declared,
        f"{place} is {shown}, and {reason}, so the pool gpus stays empty while claims wait",
        allowed,
        f"set {place.rpartition('.')[2]}: 1",
    )


KINDS = f"1 or more; 0 with {KNOWN}"
B200 = "GKE's autoscaler does not know the devices of 'nvidia-b200'"

CASES = (
    RuleCase(
        passing=(DRIVER, AKS),
        breaks=(
            Break(
                resource="gpus",
                path=("minCount",),
                value=0,
                messages=(empty(AKS, "minCount", "AKS's autoscaler does not know its devices"),),
                unknown="minCount",
            ),
        ),
    ),
    RuleCase(
        passing=(DRIVER, GENERIC),
        breaks=(
            Break(
                resource="gpus",
                path=("properties", "minCount"),
                value=0,
                messages=(
                    empty(GENERIC, "properties.minCount", "AKS's autoscaler does not know its devices"),
                ),
                unknown="properties.minCount",
            ),
        ),
    ),
    RuleCase(
        passing=(DRIVER, EKS),
        breaks=(
            Break(
                resource="gpus",
                path=("scalingConfig", "minSize"),
                value=0,
                messages=(empty(EKS, "scalingConfig.minSize", "EKS's autoscaler does not know its devices"),),
                unknown="scalingConfig.minSize",
            ),
        ),
    ),
    RuleCase(
        passing=(DRIVER, ACK),
        breaks=(
            Break(
                resource="gpus",
                path=("scalingConfig", "minSize"),
                value=0,
                messages=(empty(ACK, "scalingConfig.minSize", "ACK's autoscaler does not know its devices"),),
                unknown="scalingConfig.minSize",
            ),
        ),
    ),
    RuleCase(
        passing=(LARGE,),
        breaks=(
            Break(
                resource="gpus",
                path=("autoscaling", "minNodeCount"),
                value=0,
                messages=(empty(LARGE, "autoscaling.minNodeCount", B200, allowed=KINDS),),
                unknown="autoscaling.minNodeCount",
            ),
            Break(
                resource="gpus",
                path=("autoscaling", "minNodeCount"),
                value=REMOVED,
                messages=(
                    empty(LARGE, "autoscaling.totalMinNodeCount", B200, shown="absent", allowed=KINDS),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(CUT,),
        breaks=(
            Break(
                resource="gpus",
                path=("autoscaling", "minNodeCount"),
                value=0,
                messages=(
                    empty(
                        CUT,
                        "autoscaling.minNodeCount",
                        "GKE's autoscaler expects whole GPUs of a new node, no partitions",
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(SMALL,),
        breaks=(
            Break(
                resource="gpus",
                path=("nodeConfig", "guestAccelerators", 0, "type"),
                value="nvidia-b200",
                messages=(empty(SMALL, "autoscaling.minNodeCount", B200, allowed=KINDS),),
                unknown="nodeConfig.guestAccelerators[0].type",
            ),
        ),
    ),
    RuleCase(passing=(FIXED,), breaks=()),
)
