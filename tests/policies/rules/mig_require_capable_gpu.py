"""The programs of mig-require-capable-gpu."""

from __future__ import annotations

from typing import Any

from dra_fleet.drivers.nvidia.labels import MIG_CONFIG as LABEL
from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

ALLOWED = "partitions of GPUs that have MIG"


def aks(machine: str, **more: Any) -> Declared:
    return Declared(
        type="azure-native:containerservice:AgentPool", name="p", properties={"vmSize": machine, **more}
    )


def gke(accelerator: str, size: str) -> Declared:
    accelerators = [{"type": accelerator, "gpuPartitionSize": size}]
    return Declared(
        type="gcp:container/nodePool:NodePool",
        name="p",
        properties={"nodeConfig": {"machineType": "n1-standard-8", "guestAccelerators": accelerators}},
    )


TEMPLATE = Declared(
    type="aws:ec2/launchTemplate:LaunchTemplate", name="t", properties={"instanceType": "p5.48xlarge"}
)
EKS = Declared(
    type="aws:eks/nodeGroup:NodeGroup",
    name="p",
    properties={"amiType": "AL2023_x86_64_NVIDIA", "labels": {LABEL: "all-1g.10gb"}},
    dependencies=(TEMPLATE.urn,),
)
A100 = aks("Standard_NC24ads_A100_v4", gpuInstanceProfile="MIG1g")
LABELLED = aks("Standard_NC24ads_A100_v4", nodeLabels={LABEL: "all-1g.10gb.me"})
SWITCHED_OFF = aks("Standard_NV36ads_A10_v5", nodeLabels={LABEL: "all-disabled"})
HEARD_OF_NONE = aks("Standard_NC1_B999_v9", gpuInstanceProfile="MIG1g")
GKE = gke("nvidia-tesla-a100", "1g.5gb")
SIZE = ("nodeConfig", "guestAccelerators", 0, "gpuPartitionSize")
SIZE_PLACE = "nodeConfig.guestAccelerators[0].gpuPartitionSize"
A100_40 = "1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
A100_80 = "1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb"


def incapable(declared: Declared, place: str, shown: str, gpu: str, machine: str) -> str:
    key = LABEL if LABEL in place else place.rpartition(".")[2]
    return said(
        declared,
        f"{place} is {shown!r}, and the {gpu} of {machine} cannot be divided there",
        ALLOWED,
        f"remove {key}, or choose a machine whose GPU has MIG",
    )


def no_profile(declared: Declared, place: str, shown: str, gpu: tuple[str, str, str]) -> str:
    model, machine, known = gpu
    problem = f"{place} is {shown!r}, no profile of the {model} of {machine}"
    return said(declared, problem, known, "choose one of its profiles, or another machine")


CASES = (
    RuleCase(
        passing=(A100,),
        breaks=(
            Break(
                resource="p",
                path=("vmSize",),
                value="Standard_NV36ads_A10_v5",
                messages=(incapable(A100, "gpuInstanceProfile", "MIG1g", "A10", "Standard_NV36ads_A10_v5"),),
                unknown="vmSize",
            ),
        ),
    ),
    RuleCase(
        passing=(SWITCHED_OFF,),
        breaks=(
            Break(
                resource="p",
                path=("gpuInstanceProfile",),
                value="MIG2g",
                messages=(
                    incapable(SWITCHED_OFF, "gpuInstanceProfile", "MIG2g", "A10", "Standard_NV36ads_A10_v5"),
                ),
                unknown="gpuInstanceProfile",
            ),
            Break(
                resource="p",
                path=("nodeLabels", LABEL),
                value="all-balanced",
                messages=(
                    incapable(
                        SWITCHED_OFF,
                        f"nodeLabels.{LABEL}",
                        "all-balanced",
                        "A10",
                        "Standard_NV36ads_A10_v5",
                    ),
                ),
                unknown=f"nodeLabels.{LABEL}",
            ),
        ),
    ),
    RuleCase(
        passing=(LABELLED,),
        breaks=(
            Break(
                resource="p",
                path=("nodeLabels", LABEL),
                value="all-1g.5gb",
                messages=(
                    no_profile(
                        LABELLED,
                        f"nodeLabels.{LABEL}",
                        "all-1g.5gb",
                        ("A100-PCIE-80GB", "Standard_NC24ads_A100_v4", A100_80),
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(GKE,),
        breaks=(
            Break(
                resource="p",
                path=SIZE,
                value="1g.20gb",
                messages=(
                    no_profile(GKE, SIZE_PLACE, "1g.20gb", ("A100-SXM4-40GB", "a2-highgpu-1g", A100_40)),
                ),
                unknown=SIZE_PLACE,
            ),
            Break(
                resource="p",
                path=(*SIZE[:-1], "type"),
                value="nvidia-l4",
                messages=(incapable(GKE, SIZE_PLACE, "1g.5gb", "L4", "g2-standard-4"),),
                unknown="nodeConfig.guestAccelerators[0].type",
            ),
        ),
    ),
    RuleCase(
        passing=(TEMPLATE, EKS),
        breaks=(
            Break(
                resource="t",
                path=("instanceType",),
                value="p6e-gb200.36xlarge",
                messages=(
                    incapable(EKS, f"labels.{LABEL}", "all-1g.10gb", "GB200-186GB", "p6e-gb200.36xlarge"),
                ),
                unknown="instanceType",
            ),
        ),
    ),
    RuleCase(passing=(HEARD_OF_NONE,), breaks=()),
)
