"""The programs of pod-forbid-legacy-gpu-limits."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

RELEASE = "kubernetes:helm.sh/v3:Release"
ALLOWED = "a limit that a DeviceClass maps, from Kubernetes 1.36"
GPU = "nvidia.com/gpu"
LIMITS = ("spec", "containers", 0, "resources", "limits")
PLACE = "spec.containers[0].resources.limits"


def driver(version: str, **values: Any) -> Declared:
    chart = {"chart": "nvidia-dra-driver-gpu", "version": version, "values": values}
    return Declared(type=RELEASE, name="driver", properties=chart)


def pod(**limits: str) -> Declared:
    containers = [{"name": "c", "resources": {"limits": {"cpu": "1", **limits}}}]
    return Declared(
        type="kubernetes:core/v1:Pod", name="pod", properties={"spec": {"containers": containers}}
    )


def cluster(minor: str) -> Declared:
    return Declared(type="dra-fleet:clouds:ExistingCluster", name="lab", properties={"kubernetes": minor})


OLD = driver("25.8.1")
NEW = driver("25.12.0")
PLAIN = pod()
ASKING = pod(**{GPU: "1"})
OPERATOR = Declared(type=RELEASE, name="operator", properties={"chart": "gpu-operator"})
PLUGIN = Declared(
    type="kubernetes:apps/v1:DaemonSet",
    name="plugin",
    properties={
        "spec": {
            "template": {"spec": {"containers": [{"image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"}]}}
        }
    },
)
LEGACY_POOL = Declared(
    type="gcp:container/nodePool:NodePool",
    name="legacy",
    properties={"nodeConfig": {"machineType": "g2-standard-4", "labels": {}}},
)
DRA_POOL = Declared(
    type="gcp:container/nodePool:NodePool",
    name="dra",
    properties={
        "nodeConfig": {
            "machineType": "g2-standard-4",
            "labels": {"gke-no-default-nvidia-gpu-device-plugin": "true"},
        }
    },
)
CLASS = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClass",
    name="any",
    properties={"spec": {"extendedResourceName": GPU}},
)


def unanswered(name: str) -> str:
    return said(
        PLAIN,
        f"{PLACE}.{name} is asked for, and no DeviceClass answers it",
        ALLOWED,
        f"use a claim, or set extendedResourceName: {name} on a DeviceClass",
    )


def asked(name: str) -> Break:
    return Break(
        resource="pod",
        path=LIMITS,
        value={name: "1"},
        messages=(unanswered(name),),
        unknown=PLACE,
    )


def off(class_name: str) -> str:
    return said(
        ASKING,
        f"{PLACE}.{GPU} is asked for; class {class_name} maps it, but Kubernetes 1.35 has "
        "DRAExtendedResource off",
        ALLOWED,
        "use a claim, or run Kubernetes 1.36 or newer",
    )


UNSAID = said(
    ASKING,
    f"{PLACE}.{GPU} is asked for, and the program does not say whether its Kubernetes has "
    "DRAExtendedResource on",
    ALLOWED,
    "set kubernetes of pod-forbid-legacy-gpu-limits to the cluster's minor, or use a claim",
)

CASES = (
    RuleCase(
        passing=(cluster("1.36"), OLD, PLAIN),
        breaks=tuple(map(asked, (GPU, "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"))),
    ),
    RuleCase(
        passing=(cluster("1.36"), NEW, ASKING),
        breaks=(
            Break(resource="lab", path=("kubernetes",), value="1.35", messages=(off("gpu.nvidia.com"),)),
            Break(resource="lab", path=("kubernetes",), value=REMOVED, messages=(UNSAID,)),
        ),
    ),
    RuleCase(
        passing=(cluster("1.36"), OLD, CLASS, ASKING),
        breaks=(
            Break(resource="lab", path=("kubernetes",), value="1.35", messages=(off("any"),)),
            Break(
                resource="any",
                path=("spec", "extendedResourceName"),
                value="example.com/gpu",
                messages=(unanswered(GPU),),
            ),
        ),
    ),
    RuleCase(settings={"kubernetes": "1.36"}, passing=(NEW, ASKING), breaks=()),
    RuleCase(
        passing=(cluster("1.36"), OLD, OPERATOR, ASKING),
        breaks=(
            Break(
                resource="operator",
                path=("values",),
                value={"devicePlugin": {"enabled": False}},
                messages=(unanswered(GPU),),
            ),
        ),
    ),
    RuleCase(
        passing=(OLD, PLUGIN, ASKING),
        breaks=(
            Break(
                resource="plugin",
                path=("spec", "template", "spec", "containers", 0, "image"),
                value="example.com/other",
                messages=(unanswered(GPU),),
            ),
        ),
    ),
    RuleCase(
        passing=(OLD, LEGACY_POOL, DRA_POOL, ASKING),
        breaks=(
            Break(
                resource="legacy",
                path=("nodeConfig", "labels", "gke-no-default-nvidia-gpu-device-plugin"),
                value="true",
                messages=(unanswered(GPU),),
            ),
        ),
    ),
    RuleCase(
        passing=(driver("25.8.1", resources={"gpus": {"enabled": False}}), ASKING),
        breaks=(
            Break(
                resource="driver",
                path=("values", "resources", "gpus", "enabled"),
                value=True,
                messages=(unanswered(GPU),),
            ),
        ),
    ),
)
