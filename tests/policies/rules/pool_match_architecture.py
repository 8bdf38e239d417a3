"""The programs of pool-match-architecture."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

INTEL = ("AL2023_x86_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA_FIPS")
TEMPLATE = Declared(
    type="aws:ec2/launchTemplate:LaunchTemplate", name="t", properties={"instanceType": "g6.xlarge"}
)


def group(image: str, *machines: str, dependencies: tuple[str, ...] = ()) -> Declared:
    own = {"instanceTypes": list(machines)} if machines else {}
    return Declared(
        type="aws:eks/nodeGroup:NodeGroup",
        name="g",
        properties={"amiType": image, **own},
        dependencies=dependencies,
    )


OWN = group(INTEL[0], "g6.xlarge", "g6.2xlarge")
ARM = group("AL2023_ARM_64_STANDARD", "m7g.large")
BY_TEMPLATE = group(INTEL[0], dependencies=(TEMPLATE.urn,))
OTHERS = Declared(
    type="azure-native:containerservice:AgentPool",
    name="other",
    properties={"osSKU": "Ubuntu", "vmSize": "Standard_ND128isr_NDR_GB200_v6"},
)


def wrong(image: str, built: str, machine: str, allowed: tuple[str, ...]) -> str:
    return said(
        OWN,
        f"amiType is {image!r}, an image for {built}, and {machine!r} is "
        f"{'amd64' if built == 'arm64' else 'arm64'}",
        ", ".join(allowed),
        f"set amiType: {allowed[0]}",
    )


def google(machine: str, image: str, **node: Any) -> Declared:
    return Declared(
        type="gcp:container/nodePool:NodePool",
        name="google",
        properties={"nodeConfig": {"machineType": machine, "imageType": image, **node}},
    )


A4X = google("a4x-highgpu-4g", "cos_containerd")
UBUNTU = google("a3-highgpu-8g", "UBUNTU_CONTAINERD")
UNHEARD = google("c4a-standard-4", "UBUNTU_CONTAINERD")
NO_DRIVER = said(
    A4X,
    "nodeConfig.imageType is 'UBUNTU_CONTAINERD', for which Google has no GPU driver for arm64, the "
    "processor of a4x-highgpu-4g",
    "COS_CONTAINERD",
    "set imageType: COS_CONTAINERD",
)
OPERATOR = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="operator",
    properties={"chart": "gpu-operator", "version": "v26.7.0", "values": {"driver": {"enabled": True}}},
)
ARM_NVIDIA = "AL2023_ARM_64_NVIDIA"
NVIDIA_ON_ARM = (ARM_NVIDIA, "BOTTLEROCKET_ARM_64_NVIDIA", "BOTTLEROCKET_ARM_64_NVIDIA_FIPS")

CASES = (
    RuleCase(
        passing=(OWN, OTHERS),
        breaks=(
            Break(
                resource="g",
                path=("amiType",),
                value=ARM_NVIDIA,
                messages=(
                    wrong(ARM_NVIDIA, "arm64", "g6.xlarge", INTEL),
                    wrong(ARM_NVIDIA, "arm64", "g6.2xlarge", INTEL),
                ),
                unknown="amiType",
            ),
            Break(
                resource="g",
                path=("instanceTypes", 1),
                value="g5g.xlarge",
                messages=(wrong(INTEL[0], "amd64", "g5g.xlarge", NVIDIA_ON_ARM),),
                unknown="instanceTypes[1]",
            ),
        ),
    ),
    RuleCase(
        passing=(TEMPLATE, BY_TEMPLATE),
        breaks=(
            Break(
                resource="t",
                path=("instanceType",),
                value="p6e-gb200.36xlarge",
                messages=(wrong(INTEL[0], "amd64", "p6e-gb200.36xlarge", NVIDIA_ON_ARM),),
                unknown="instanceType",
            ),
        ),
    ),
    RuleCase(
        passing=(ARM,),
        breaks=(
            Break(
                resource="g",
                path=("instanceTypes", 0),
                value="m7i.large",
                messages=(
                    wrong(
                        "AL2023_ARM_64_STANDARD",
                        "arm64",
                        "m7i.large",
                        (
                            "AL2023_x86_64_STANDARD",
                            "AL2023_x86_64_NEURON",
                            "BOTTLEROCKET_x86_64",
                            "AL2_x86_64",
                            "AL2_x86_64_GPU",
                        ),
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(A4X, OTHERS),
        breaks=(
            Break(
                resource="google",
                path=("nodeConfig", "imageType"),
                value="UBUNTU_CONTAINERD",
                messages=(NO_DRIVER,),
                unknown="nodeConfig.imageType",
            ),
            Break(resource="google", path=("nodeConfig", "imageType"), value=REMOVED, messages=()),
        ),
    ),
    RuleCase(
        passing=(UBUNTU,),
        breaks=(
            Break(
                resource="google",
                path=("nodeConfig", "machineType"),
                value="a4x-highgpu-4g",
                messages=(NO_DRIVER,),
                unknown="nodeConfig.machineType",
            ),
        ),
    ),
    RuleCase(
        passing=(google("a4x-highgpu-4g", "UBUNTU_CONTAINERD"), OPERATOR),
        breaks=(
            Break(
                resource="operator",
                path=("values", "driver", "enabled"),
                value=False,
                messages=(NO_DRIVER,),
            ),
        ),
    ),
    RuleCase(passing=(UNHEARD,), breaks=()),
)
