"""Programs of the rules on DRA drivers and GPU drivers of nodes."""

from typing import Any

from msgspec.structs import replace

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, said
from tests.policies.rules._building import breaking, passes

DEFAULT_NAMESPACE_ALLOWED = "a namespace of the driver's own"
KUBERNETES = "pulumi:providers:kubernetes"
DEFAULT_NAMESPACE_RELEASE = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "nvidia-dra-driver-gpu", "namespace": "gpus"},
)
BY_PROVIDER = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "dra-example-driver"},
    provider=(KUBERNETES, {"namespace": "gpus"}),
)
OTHER = Declared(type="kubernetes:helm.sh/v3:Release", name="other", properties={"chart": "grafana"})

FORBID_DEFAULT_NAMESPACE = (
    passes(
        (DEFAULT_NAMESPACE_RELEASE, OTHER),
        breaking(
            "driver",
            ("namespace",),
            "default",
            said(
                DEFAULT_NAMESPACE_RELEASE,
                "namespace is 'default'",
                DEFAULT_NAMESPACE_ALLOWED,
                "install it into the namespace dra-driver-nvidia-gpu",
            ),
            unknown="namespace",
        ),
        breaking(
            "driver",
            ("namespace",),
            REMOVED,
            said(
                DEFAULT_NAMESPACE_RELEASE,
                "namespace is absent",
                DEFAULT_NAMESPACE_ALLOWED,
                "install it into the namespace dra-driver-nvidia-gpu",
            ),
        ),
    ),
    passes(
        (BY_PROVIDER,),
        Break(
            resource="driver",
            options={"provider": (KUBERNETES, {"namespace": "default"})},
            messages=(
                said(
                    BY_PROVIDER,
                    "provider.namespace is 'default'",
                    DEFAULT_NAMESPACE_ALLOWED,
                    "install it into the namespace dra-example-driver",
                ),
            ),
        ),
    ),
)


ROOT_RELEASE = "kubernetes:helm.sh/v3:Release"
PATH = ("values", "nvidiaDriverRoot")
PLACE = "values.nvidiaDriverRoot"
GKE_ROOT = "/home/kubernetes/bin/nvidia"
OPERATOR_ROOT = "/run/nvidia/driver"


def driver(root: str) -> Declared:
    values = {"nvidiaDriverRoot": root}
    properties = {"chart": "dra-driver-nvidia-gpu", "version": "0.5.0", "values": values}
    return Declared(type=ROOT_RELEASE, name="driver", properties=properties)


def operator_root(**values: Any) -> Declared:
    properties = {"chart": "gpu-operator", "version": "v25.10.0", "values": values}
    return Declared(type=ROOT_RELEASE, name="operator", properties=properties)


def wrong(shown: str, output: str, root: str) -> str:
    return said(
        driver(root),
        f"{PLACE} is {shown}, and {output} has the GPU driver in {root}, so no devices are published there",
        root,
        f'set nvidiaDriverRoot: "{root}"',
    )


def misplaced(value: str, output: str, root: str) -> Break:
    return breaking("driver", PATH, value, wrong(repr(value), output, root), unknown=PLACE)


def aks_root(choice: str) -> Declared:
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
ROOT_OFF = operator_root(driver={"enabled": False})
MOUNTED = operator_root(driver={"enabled": False}, hostPaths={"driverInstallDir": OPERATOR_ROOT})
OWN = operator_root(hostPaths={"driverInstallDir": "/opt/gpu"})
UNLABELLED = Declared(
    type="azure-native:containerservice:AgentPool",
    name="other",
    properties={"vmSize": "Standard_NC24ads_A100_v4", "gpuProfile": {"driver": "Install"}},
)

MATCH_ROOT = (
    passes(
        (driver("/"), aks_root("Install"), ROOT_OFF),
        misplaced(OPERATOR_ROOT, "the pool gpus", "/"),
        Break(
            resource="operator",
            path=("values", "driver", "enabled"),
            value=True,
            messages=(),  # two owners are another rule's finding
        ),
    ),
    passes(
        (driver(f"{OPERATOR_ROOT}/"), aks_root("None"), operator_root()),
        misplaced("/", "the pool gpus", OPERATOR_ROOT),
        breaking("driver", PATH, REMOVED, wrong("absent", "the pool gpus", OPERATOR_ROOT)),
        breaking(
            "pool",
            ("gpuProfile", "driver"),
            "Install",
            wrong(repr(f"{OPERATOR_ROOT}/"), "the pool gpus", "/"),
            unknown="gpuProfile.driver",
        ),
    ),
    passes(
        (driver(GKE_ROOT), gke("COS_CONTAINERD")),
        misplaced("/", "the pool gpus", GKE_ROOT),
        breaking(
            "gpus",
            ("nodeConfig", "imageType"),
            "ubuntu_containerd",
            wrong(repr(GKE_ROOT), "the pool gpus", "/opt/nvidia"),
            unknown="nodeConfig.imageType",
        ),
    ),
    passes((driver("/"), eks("AL2023_x86_64_NVIDIA")), misplaced(OPERATOR_ROOT, "the pool gpus", "/")),
    passes((driver("/"), ACK), misplaced(OPERATOR_ROOT, "the pool gpus", "/")),
    passes(
        (driver("/opt/gpu"), eks("AL2023_x86_64_STANDARD"), OWN), misplaced("/", "the pool gpus", "/opt/gpu")
    ),
    passes(
        (driver(OPERATOR_ROOT), operator_root()), misplaced("/", "the GPU Operator (operator)", OPERATOR_ROOT)
    ),
    passes((driver("/anywhere"), ROOT_OFF)),
    passes(
        (driver("/"), aks_root("Install"), MOUNTED),
        breaking(
            "operator",
            ("values", "hostPaths", "driverInstallDir"),
            "/",
            said(
                MOUNTED,
                "values.hostPaths.driverInstallDir is '/', which the GPU Operator mounts at that "
                "path into its own pods: no container starts with a mount on its root, so its pods "
                "and all that wait for them never do",
                OPERATOR_ROOT,
                "remove hostPaths.driverInstallDir, also if the host has the GPU driver",
            ),
            unknown="values.hostPaths.driverInstallDir",
        ),
    ),
    passes((driver("/anywhere"), UNLABELLED)),
)


OWNER_RELEASE = "kubernetes:helm.sh/v3:Release"
OWNER_ALLOWED = "one owner of the GPU driver on each pool"
DRIVER = Declared(
    type=OWNER_RELEASE, name="driver", properties={"chart": "dra-driver-nvidia-gpu", "version": "0.5.0"}
)
SWITCH = ("values", "driver", "enabled")
INSTALLATION = ("nodeConfig", "guestAccelerators", 0, "gpuDriverInstallationConfig", "gpuDriverVersion")
GKE_PLACE = "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion"


def operator_owner(*, enabled: bool) -> Declared:
    values: dict[str, Any] = {"driver": {"enabled": enabled}}
    return Declared(
        type=OWNER_RELEASE, name="operator", properties={"chart": "gpu-operator", "values": values}
    )


def aks_owner(choice: str, **labels: str) -> Declared:
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


ON = operator_owner(enabled=True)
OWNER_OFF = operator_owner(enabled=False)
BOTH = 'set driver.enabled: false, or gpuProfile.driver: "None" on the pool'


def twice(shown: str, owner: str, fix: str) -> str:
    return said(
        ON,
        f"values.driver.enabled is {shown}, so the GPU Operator installs a GPU driver on the pool gpus "
        f"beside that of {owner}",
        OWNER_ALLOWED,
        fix,
    )


def without_owner(declared: Declared, place: str, shown: str, fix: str) -> str:
    return said(
        declared,
        f"{place} is {shown}, and nothing in the program installs a GPU driver on the pool gpus",
        OWNER_ALLOWED,
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

REQUIRE_OWNER = (
    passes(
        (aks_owner("Install"), OWNER_OFF),
        breaking("operator", SWITCH, True, twice("True", "AKS", BOTH), unknown="values.driver.enabled"),
        breaking("operator", SWITCH, REMOVED, twice("absent", "AKS", BOTH)),
        breaking(
            "gpus",
            ("gpuProfile", "driver"),
            "None",
            without_owner(
                aks_owner("None"), "gpuProfile.driver", "'None'", 'set gpuProfile.driver: "Install"'
            ),
            unknown="gpuProfile.driver",
        ),
    ),
    passes(
        (aks_owner("None"), ON),
        breaking("gpus", ("gpuProfile",), REMOVED, twice("True", "AKS", BOTH), unknown="gpuProfile"),
    ),
    passes(
        (aks_owner("Install", **{LABEL: "false"}), ON),
        breaking("gpus", ("nodeLabels", LABEL), "true", twice("True", "AKS", BOTH)),
    ),
    passes(
        (GKE, DRIVER, installer("cos-nvidia-installer:fixed")),
        breaking(
            "installer",
            ("spec", "template", "spec", "initContainers", 0, "image"),
            "example.com/other:1",
            without_owner(GKE, GKE_PLACE, "'INSTALLATION_DISABLED'", "install it by Google's DaemonSet"),
        ),
    ),
    passes(
        (GKE, DRIVER, ON),
        breaking(
            "gpus",
            INSTALLATION,
            "LATEST",
            twice("True", "GKE", "set driver.enabled: false"),
            unknown=GKE_PLACE,
        ),
    ),
    passes(
        (EKS, DRIVER),
        breaking(
            "gpus",
            ("amiType",),
            "AL2023_x86_64_STANDARD",
            without_owner(
                EKS,
                "amiType",
                "'AL2023_x86_64_STANDARD'",
                "use an image with NVIDIA's driver, such as AL2023_x86_64_NVIDIA",
            ),
            unknown="amiType",
        ),
    ),
    passes(
        (EKS, OWNER_OFF),
        breaking(
            "operator",
            SWITCH,
            True,
            twice("True", "the image AL2023_x86_64_NVIDIA", "set driver.enabled: false"),
        ),
    ),
    passes((GKE, DRIVER), settings={"external": ["gpus"]}),
    passes((aks_owner("None"),)),
    passes(
        (installed_by_gke(), kept_off()),
        breaking(
            "installer",
            ("spec", "template", "spec", "affinity"),
            REMOVED,
            said(
                kept_off(),
                "spec.template.spec.initContainers[0].image is 'cos-nvidia-installer:fixed', which "
                "installs a GPU driver on the pool gpus beside that of GKE",
                OWNER_ALLOWED,
                "keep it off the pool by a nodeSelector or an affinity, or remove it",
            ),
        ),
    ),
)

CASES = {
    "driver-forbid-default-namespace": FORBID_DEFAULT_NAMESPACE,
    "driver-match-root": MATCH_ROOT,
    "driver-require-owner": REQUIRE_OWNER,
}
