"""The programs of driver-require-owner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

RELEASE = "kubernetes:helm.sh/v3:Release"
ALLOWED = "one owner of the GPU driver on each pool"
DRIVER = Declared(
    type=RELEASE, name="driver", properties={"chart": "dra-driver-nvidia-gpu", "version": "0.5.0"}
)
SWITCH = ("values", "driver", "enabled")
INSTALLATION = ("nodeConfig", "guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion")
GKE_PLACE = "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion"


def operator(*, enabled: bool) -> Declared:
    values: dict[str, Any] = {"driver": {"enabled": enabled}}
    return Declared(type=RELEASE, name="operator", properties={"chart": "gpu-operator", "values": values})


def aks(choice: str, **labels: str) -> Declared:
    return Declared(
        type="azure-native:containerservice:AgentPool",
        name="gpus",
        properties={
            "vmSize": "Standard_NC24ads_A100_v4",
            "nodeLabels": labels,
            "gpuProfile": {"driver": choice},
        },
    )


GKE = Declared(
    type="gcp:container/nodePool:NodePool",
    name="gpus",
    properties={
        "nodeConfig": {
            "guestAccelerators": [
                {
                    "type": "nvidia-l4",
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
                }
            ]
        }
    },
)
EKS = Declared(
    type="aws:eks/nodeGroup:NodeGroup",
    name="gpus",
    properties={"instanceTypes": ["g6.xlarge"], "amiType": "AL2023_x86_64_NVIDIA"},
)


def installer(image: str) -> Declared:
    containers = {"initContainers": [{"image": image}], "containers": [{"image": "pause"}]}
    return Declared(
        type="kubernetes:apps/v1:DaemonSet",
        name="installer",
        properties={"spec": {"template": {"spec": containers}}},
    )


ON = operator(enabled=True)
OFF = operator(enabled=False)
BOTH = 'set driver.enabled: false, or gpuProfile.driver: "None" on the pool'


def twice(shown: str, owner: str, fix: str) -> str:
    return said(
        ON,
        f"values.driver.enabled is {shown}, so the GPU Operator installs a GPU driver on the pool gpus "
        f"beside that of {owner}",
        ALLOWED,
        fix,
    )


def without_owner(declared: Declared, place: str, shown: str, fix: str) -> str:
    return said(
        declared,
        f"{place} is {shown}, and nothing in the program installs a GPU driver on the pool gpus",
        ALLOWED,
        f"{fix}, or list the pool in external of driver-require-owner",
    )


def installed_by_gke() -> Declared:
    chosen = {"type": "nvidia-l4", "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}
    return replace(GKE, properties={"nodeConfig": {"guestAccelerators": [chosen]}})


def kept_off() -> Declared:
    """Google's own installer, which keeps off nodes whose driver GKE installs."""
    off = [{"key": "cloud.google.com/gke-gpu-driver-version", "operator": "DoesNotExist"}]
    required = {"nodeSelectorTerms": [{"matchExpressions": off}]}
    found = installer("cos-nvidia-installer:fixed")
    found.properties["spec"]["template"]["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }
    return found


LABEL = "nvidia.com/gpu.deploy.driver"

CASES = (
    RuleCase(
        passing=(aks("Install"), OFF),
        breaks=(
            Break(
                resource="operator",
                path=SWITCH,
                value=True,
                messages=(twice("True", "AKS", BOTH),),
                unknown="values.driver.enabled",
            ),
            Break(resource="operator", path=SWITCH, value=REMOVED, messages=(twice("absent", "AKS", BOTH),)),
            Break(
                resource="gpus",
                path=("gpuProfile", "driver"),
                value="None",
                messages=(
                    without_owner(
                        aks("None"), "gpuProfile.driver", "'None'", 'set gpuProfile.driver: "Install"'
                    ),
                ),
                unknown="gpuProfile.driver",
            ),
        ),
    ),
    RuleCase(
        passing=(aks("None"), ON),
        breaks=(
            Break(
                resource="gpus",
                path=("gpuProfile",),
                value=REMOVED,
                messages=(twice("True", "AKS", BOTH),),
                unknown="gpuProfile",
            ),
        ),
    ),
    RuleCase(
        passing=(aks("Install", **{LABEL: "false"}), ON),
        breaks=(
            Break(
                resource="gpus",
                path=("nodeLabels", LABEL),
                value="true",
                messages=(twice("True", "AKS", BOTH),),
            ),
        ),
    ),
    RuleCase(
        passing=(GKE, DRIVER, installer("cos-nvidia-installer:fixed")),
        breaks=(
            Break(
                resource="installer",
                path=("spec", "template", "spec", "initContainers", 0, "image"),
                value="example.com/other:1",
                messages=(
                    without_owner(
                        GKE, GKE_PLACE, "'INSTALLATION_DISABLED'", "install it by Google's DaemonSet"
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(GKE, DRIVER, ON),
        breaks=(
            Break(
                resource="gpus",
                path=INSTALLATION,
                value="LATEST",
                messages=(twice("True", "GKE", "set driver.enabled: false"),),
                unknown=GKE_PLACE,
            ),
        ),
    ),
    RuleCase(
        passing=(EKS, DRIVER),
        breaks=(
            Break(
                resource="gpus",
                path=("amiType",),
                value="AL2023_x86_64_STANDARD",
                messages=(
                    without_owner(
                        EKS,
                        "amiType",
                        "'AL2023_x86_64_STANDARD'",
                        "use an image with NVIDIA's driver, such as AL2023_x86_64_NVIDIA",
                    ),
                ),
                unknown="amiType",
            ),
        ),
    ),
    RuleCase(
        passing=(EKS, OFF),
        breaks=(
            Break(
                resource="operator",
                path=SWITCH,
                value=True,
                messages=(twice("True", "the image AL2023_x86_64_NVIDIA", "set driver.enabled: false"),),
            ),
        ),
    ),
    RuleCase(settings={"external": ["gpus"]}, passing=(GKE, DRIVER), breaks=()),
    RuleCase(passing=(aks("None"),), breaks=()),
    RuleCase(
        passing=(installed_by_gke(), kept_off()),
        breaks=(
            Break(
                resource="installer",
                path=("spec", "template", "spec", "affinity"),
                value=REMOVED,
                messages=(
                    said(
                        kept_off(),
                        "spec.template.spec.initContainers[0].image is 'cos-nvidia-installer:fixed', which "
                        "installs a GPU driver on the pool gpus beside that of GKE",
                        ALLOWED,
                        "keep it off the pool by a nodeSelector or an affinity, or remove it",
                    ),
                ),
            ),
        ),
    ),
)
