"""Programs of the rules on node pools."""

from typing import Any

from dra_fleet.clouds.gke import GPU_DRA, GPU_PRESENT, NO_PLUGIN, TRIPLE
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said
from tests.policies.rules._building import breaking, passes

DRIVER = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "dra-driver-nvidia-gpu", "version": "0.5.0"},
)
PROFILE: dict[str, Any] = {"gpuProfile": {"nvidia": {"managementMode": "Unmanaged"}}}
MANAGED_GPU_PROFILE_POOL = Declared(
    type="azure-native_containerservice_v20260502preview:containerservice:AgentPool",
    name="gpus",
    properties=PROFILE,
)
CLUSTER = Declared(
    type="azure-native:containerservice:ManagedCluster",
    name="c",
    properties={"agentPoolProfiles": [{}, PROFILE]},
)
MANAGED_GPU_PROFILE_GENERIC = Declared(
    type="azure-native:resources:Resource",
    name="gpus",
    properties={"resourceType": "managedClusters/agentPools", "properties": PROFILE},
)
MANAGED = Declared(
    type=MANAGED_GPU_PROFILE_POOL.type,
    name="plain",
    properties={"gpuProfile": {"nvidia": {"managementMode": "Managed"}}},
)
DRA_MODE: dict[str, Any] = {"gpuProfile": {"nvidia": {"managementMode": "Managed", "driverMode": "DRA"}}}
WITHOUT_PLUGIN = Declared(
    type=MANAGED_GPU_PROFILE_GENERIC.type,
    name="dra",
    properties={**MANAGED_GPU_PROFILE_GENERIC.properties, "properties": DRA_MODE},
)


def case(declared: Declared, *path: str | int, place: str) -> RuleCase:
    steps = (*path, "gpuProfile", "nvidia", "managementMode")
    message = said(
        declared,
        f"{place} is 'Managed', so Azure's device plugin advertises the GPUs beside the DRA driver (driver)",
        "Unmanaged where a DRA driver advertises the GPUs",
        'set managementMode: "Unmanaged"',
    )
    broken = breaking(declared.name, steps, "Managed", message, unknown=place)
    return passes((DRIVER, declared), broken)


INNER = "gpuProfile.nvidia.managementMode"

FORBID_MANAGED_GPU_PROFILE = (
    case(MANAGED_GPU_PROFILE_POOL, place=INNER),
    case(CLUSTER, "agentPoolProfiles", 1, place=f"agentPoolProfiles[1].{INNER}"),
    case(MANAGED_GPU_PROFILE_GENERIC, "properties", place=f"properties.{INNER}"),
    passes((MANAGED,)),
    passes((DRIVER, WITHOUT_PLUGIN)),
)


KNOWN = ", ".join(entry.name for entry in gke_facts().scale_from_zero.accelerators)
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
SCALE_FROM_ZERO_GENERIC = Declared(
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

LIMIT_SCALE_FROM_ZERO = (
    passes(
        (DRIVER, AKS),
        breaking(
            "gpus",
            ("minCount",),
            0,
            empty(AKS, "minCount", "AKS's autoscaler does not know its devices"),
            unknown="minCount",
        ),
    ),
    passes(
        (DRIVER, SCALE_FROM_ZERO_GENERIC),
        breaking(
            "gpus",
            ("properties", "minCount"),
            0,
            empty(
                SCALE_FROM_ZERO_GENERIC, "properties.minCount", "AKS's autoscaler does not know its devices"
            ),
            unknown="properties.minCount",
        ),
    ),
    passes(
        (DRIVER, EKS),
        breaking(
            "gpus",
            ("scalingConfig", "minSize"),
            0,
            empty(EKS, "scalingConfig.minSize", "EKS's autoscaler does not know its devices"),
            unknown="scalingConfig.minSize",
        ),
    ),
    passes(
        (DRIVER, ACK),
        breaking(
            "gpus",
            ("scalingConfig", "minSize"),
            0,
            empty(ACK, "scalingConfig.minSize", "ACK's autoscaler does not know its devices"),
            unknown="scalingConfig.minSize",
        ),
    ),
    passes(
        (LARGE,),
        breaking(
            "gpus",
            ("autoscaling", "minNodeCount"),
            0,
            empty(LARGE, "autoscaling.minNodeCount", B200, allowed=KINDS),
            unknown="autoscaling.minNodeCount",
        ),
        breaking(
            "gpus",
            ("autoscaling", "minNodeCount"),
            REMOVED,
            empty(LARGE, "autoscaling.totalMinNodeCount", B200, shown="absent", allowed=KINDS),
        ),
    ),
    passes(
        (CUT,),
        breaking(
            "gpus",
            ("autoscaling", "minNodeCount"),
            0,
            empty(
                CUT,
                "autoscaling.minNodeCount",
                "GKE's autoscaler expects whole GPUs of a new node, no partitions",
            ),
        ),
    ),
    passes(
        (SMALL,),
        breaking(
            "gpus",
            ("nodeConfig", "guestAccelerators", 0, "type"),
            "nvidia-b200",
            empty(SMALL, "autoscaling.minNodeCount", B200, allowed=KINDS),
            unknown="nodeConfig.guestAccelerators[0].type",
        ),
    ),
    passes((FIXED,)),
)


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

MATCH_ARCHITECTURE = (
    passes(
        (OWN, OTHERS),
        breaking(
            "g",
            ("amiType",),
            ARM_NVIDIA,
            wrong(ARM_NVIDIA, "arm64", "g6.xlarge", INTEL),
            wrong(ARM_NVIDIA, "arm64", "g6.2xlarge", INTEL),
            unknown="amiType",
        ),
        breaking(
            "g",
            ("instanceTypes", 1),
            "g5g.xlarge",
            wrong(INTEL[0], "amd64", "g5g.xlarge", NVIDIA_ON_ARM),
            unknown="instanceTypes[1]",
        ),
    ),
    passes(
        (TEMPLATE, BY_TEMPLATE),
        breaking(
            "t",
            ("instanceType",),
            "p6e-gb200.36xlarge",
            wrong(INTEL[0], "amd64", "p6e-gb200.36xlarge", NVIDIA_ON_ARM),
            unknown="instanceType",
        ),
    ),
    passes(
        (ARM,),
        breaking(
            "g",
            ("instanceTypes", 0),
            "m7i.large",
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
    passes(
        (A4X, OTHERS),
        breaking(
            "google",
            ("nodeConfig", "imageType"),
            "UBUNTU_CONTAINERD",
            NO_DRIVER,
            unknown="nodeConfig.imageType",
        ),
        breaking("google", ("nodeConfig", "imageType"), REMOVED),
    ),
    passes(
        (UBUNTU,),
        breaking(
            "google",
            ("nodeConfig", "machineType"),
            "a4x-highgpu-4g",
            NO_DRIVER,
            unknown="nodeConfig.machineType",
        ),
    ),
    passes(
        (google("a4x-highgpu-4g", "UBUNTU_CONTAINERD"), OPERATOR),
        breaking("operator", ("values", "driver", "enabled"), False, NO_DRIVER),
    ),
    passes((UNHEARD,)),
)


WHY = {
    NO_PLUGIN: "GKE's device plugin also gives the GPUs out",
    GPU_PRESENT: "the DRA driver's plugin does not run on its nodes",
    GPU_DRA: "the autoscaler does not know that claims use its GPUs",
}
INSTALLATION = ("nodeConfig", "guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion")
PLACE = "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion"
DRA_LABELS_POOL = Declared(
    type="gcp:container/nodePool:NodePool",
    name="gpus",
    properties={
        "nodeConfig": {
            "labels": dict.fromkeys(TRIPLE, "true"),
            "guestAccelerators": [
                {
                    "type": "nvidia-l4",
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
                }
            ],
        }
    },
)
OTHER = Declared(
    type="gcp:container/nodePool:NodePool", name="cpus", properties={"nodeConfig": {"labels": {"team": "a"}}}
)


def lacking(key: str) -> Break:
    message = said(
        DRA_LABELS_POOL,
        f'nodeConfig.labels lacks {key}="true", so {WHY[key]}',
        f"all of {', '.join(TRIPLE)}",
        f'add the label {key}: "true" to the pool',
    )
    return breaking(
        "gpus", ("nodeConfig", "labels", key), REMOVED, message, unknown=f"nodeConfig.labels.{key}"
    )


DEFAULT = said(
    DRA_LABELS_POOL,
    f"{PLACE} is 'DEFAULT', so GKE installs a driver that the DRA driver does not find",
    "INSTALLATION_DISABLED",
    "set gpuDriverVersion: INSTALLATION_DISABLED, and install the driver by its DaemonSet",
)

REQUIRE_DRA_LABELS = (
    passes(
        (DRA_LABELS_POOL,),
        *(lacking(key) for key in TRIPLE),
        breaking("gpus", INSTALLATION, "DEFAULT", DEFAULT, unknown=PLACE),
    ),
    passes((OTHER,)),
)

CASES = {
    "pool-forbid-managed-gpu-profile": FORBID_MANAGED_GPU_PROFILE,
    "pool-limit-scale-from-zero": LIMIT_SCALE_FROM_ZERO,
    "pool-match-architecture": MATCH_ARCHITECTURE,
    "pool-require-dra-labels": REQUIRE_DRA_LABELS,
}
