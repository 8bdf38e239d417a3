"""Programs of the rules on the devices of a node."""

from typing import Any

from dra_fleet.clouds.gke import GPU_PRESENT, TRIPLE
from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, said
from tests.policies.rules._building import breaking, passes

ONE = "one advertiser for the GPUs of a node"
APART = "remove it, or keep it off the pools of the DRA driver by a nodeSelector"
DRIVER = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={
        "chart": "dra-driver-nvidia-gpu",
        "version": "0.5.0",
        "values": {
            "resources": {"gpus": {"enabled": True}},
            "kubeletPlugin": {"nodeSelector": {"gpus": "dra"}},
        },
    },
)
OPERATOR = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="operator",
    properties={
        "chart": "gpu-operator",
        "version": "v25.10.0",
        "values": {"devicePlugin": {"enabled": False}, "nfd": {"enabled": True}},
    },
)
PLUGIN = Declared(
    type="kubernetes:apps/v1:DaemonSet",
    name="plugin",
    properties={
        "spec": {
            "template": {
                "spec": {
                    "nodeSelector": {"gpus": "plugin"},
                    "containers": [{"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"}],
                }
            }
        }
    },
)
CHART = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="legacy",
    properties={"chart": "nvidia-device-plugin", "values": {"nodeSelector": {"gpus": "plugin"}}},
)


def pool(name: str, labels: dict[str, str]) -> Declared:
    return Declared(
        type="gcp:container/nodePool:NodePool",
        name=name,
        properties={"name": name, "nodeConfig": {"machineType": "g2-standard-8", "labels": labels}},
    )


DRA_POOL = pool("modern", {**dict.fromkeys(TRIPLE, "true"), "gpus": "dra"})
OLD_POOL = pool("old", {"gpus": "plugin"})
EKS_POOL = Declared(
    type="aws:eks/nodeGroup:NodeGroup",
    name="rocks",
    properties={
        "instanceTypes": ["g5.xlarge"],
        "amiType": "BOTTLEROCKET_x86_64_NVIDIA",
        "launchTemplate": {"id": "lt-1", "version": "1"},
        "labels": {"gpus": "dra"},
    },
)
ACK_POOL = Declared(
    type="alicloud:cs/nodePool:NodePool",
    name="asia",
    properties={
        "instanceTypes": ["ecs.gn7i-c8g1.2xlarge"],
        "labels": [
            {"key": "ack.node.gpu.schedule", "value": "disabled"},
            {"key": "gpus", "value": "dra"},
            {"key": "nvidia.com/gpu.present", "value": "true"},
        ],
    },
)


def output(declared: Declared, place: str, title: str, where: str, fix: str) -> str:
    beside = "beside the DRA driver (driver), so two pods get the same GPU"
    return said(declared, f"{place} lets {title} advertise the GPUs of {where} {beside}", ONE, fix)


def broken(
    declared: Declared, path: tuple[str | int, ...], value: Any, message: str, unknown: str | None = None
) -> Break:
    return breaking(declared.name, path, value, message, unknown=unknown)


OF_OPERATOR = output(
    OPERATOR,
    "values.devicePlugin.enabled",
    "the GPU Operator's device plugin",
    "the same nodes",
    'set devicePlugin.enabled: false, or label the pools nvidia.com/gpu.deploy.device-plugin: "false"',
)
PODS = ("spec", "template", "spec")
SPEC = ".".join(PODS)
TOLERATION = {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}
TAINT = {"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}


def release(name: str, chart: str, version: str, values: dict[str, Any]) -> Declared:
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name=name,
        properties={"chart": chart, "version": version, "values": values},
    )


def gke_pool(name: str, labels: dict[str, str], taints: list[dict[str, str]]) -> Declared:
    node = {"machineType": "g2-standard-8", "labels": labels, "taints": taints}
    return Declared(
        type="gcp:container/nodePool:NodePool", name=name, properties={"name": name, "nodeConfig": node}
    )


FREE_DRIVER = release(
    "driver", "dra-driver-nvidia-gpu", "0.5.0", {"kubeletPlugin": {"tolerations": [{"operator": "Exists"}]}}
)
FREE_PLUGIN = Declared(
    type="kubernetes:apps/v1:DaemonSet",
    name="plugin",
    properties={
        "spec": {
            "template": {"spec": {"containers": [{"image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"}]}}
        }
    },
)
FREE_CHART = release("legacy", "nvidia-device-plugin", "0.18.0", {})
FREE_OPERATOR = release("operator", "gpu-operator", "v25.10.0", {"driver": {"enabled": False}})
TAINTED = Declared(
    type="azure-native:containerservice:AgentPool",
    name="tainted",
    properties={
        "vmSize": "Standard_NC24ads_A100_v4",
        "nodeLabels": {GPU_PRESENT: "true"},
        "nodeTaints": ["team=ml:NoSchedule"],
    },
)
BY_DAEMON_SET = output(
    FREE_PLUGIN, f"{SPEC}.containers[0].image", "the device plugin's DaemonSet", "the pools tainted", APART
)
OF_FREE_OPERATOR = output(
    FREE_OPERATOR,
    "values.devicePlugin.enabled",
    "the GPU Operator's device plugin",
    "the pools tainted",
    'set devicePlugin.enabled: false, or label the pools nvidia.com/gpu.deploy.device-plugin: "false"',
)
LIMIT_ADVERTISERS = (
    passes(
        (DRIVER, OPERATOR),
        broken(
            OPERATOR, ("values", "devicePlugin", "enabled"), True, OF_OPERATOR, "values.devicePlugin.enabled"
        ),
        broken(OPERATOR, ("values", "devicePlugin", "enabled"), REMOVED, OF_OPERATOR),
        broken(
            OPERATOR,
            ("values", "gpuCluster"),
            {"deployCR": True},
            output(
                OPERATOR,
                "values.gpuCluster.deployCR",
                "the GPU Operator's DRA driver",
                "the same nodes",
                "remove gpuCluster.deployCR",
            ),
        ),
    ),
    passes(
        (DRIVER, PLUGIN, CHART),
        broken(
            PLUGIN,
            ("spec", "template", "spec", "nodeSelector", "gpus"),
            "dra",
            output(
                PLUGIN,
                "spec.template.spec.containers[0].image",
                "the device plugin's DaemonSet",
                "the same nodes",
                APART,
            ),
        ),
        broken(
            CHART,
            ("values", "nodeSelector", "gpus"),
            REMOVED,
            output(CHART, "chart", "the device plugin's chart", "the same nodes", APART),
        ),
    ),
    passes(
        (DRIVER, DRA_POOL, OLD_POOL, PLUGIN, EKS_POOL, ACK_POOL),
        broken(
            DRA_POOL,
            ("nodeConfig", "labels", TRIPLE[0]),
            REMOVED,
            output(
                DRA_POOL,
                "nodeConfig.labels",
                "GKE's device plugin",
                "the pool modern",
                f'add the label {TRIPLE[0]}: "true" to the pool',
            ),
            f"nodeConfig.labels.{TRIPLE[0]}",
        ),
        broken(
            PLUGIN,
            ("spec", "template", "spec", "nodeSelector", "gpus"),
            "dra",
            output(
                PLUGIN,
                "spec.template.spec.containers[0].image",
                "the device plugin's DaemonSet",
                "the pools asia, modern, rocks",
                APART,
            ),
        ),
        broken(
            EKS_POOL,
            ("launchTemplate",),
            REMOVED,
            output(
                EKS_POOL,
                "amiType",
                "Bottlerocket's device plugin",
                "the pool rocks",
                "turn it off in a launch template: settings.kubelet-device-plugins.nvidia.enabled = false",
            ),
        ),
        broken(
            ACK_POOL,
            ("labels", 0, "value"),
            "default",
            output(
                ACK_POOL,
                "labels",
                "ACK's device plugin",
                "the pool asia",
                'add the label ack.node.gpu.schedule: "disabled" to the pool',
            ),
        ),
    ),
    passes(
        (FREE_DRIVER, FREE_PLUGIN, TAINTED),
        broken(FREE_PLUGIN, (*PODS, "tolerations"), [TOLERATION], BY_DAEMON_SET, f"{SPEC}.tolerations"),
        broken(TAINTED, ("nodeTaints",), [], BY_DAEMON_SET, "nodeTaints"),
        broken(TAINTED, ("nodeTaints",), ["team=ml:PreferNoSchedule"], BY_DAEMON_SET),
        broken(TAINTED, ("nodeTaints",), ["node.cilium.io/agent-not-ready:NoExecute"], BY_DAEMON_SET),
    ),
    passes(
        (FREE_DRIVER, FREE_CHART, TAINTED),
        broken(
            FREE_CHART,
            ("values", "tolerations"),
            [{"operator": "Exists"}],
            output(FREE_CHART, "chart", "the device plugin's chart", "the pools tainted", APART),
            "values.tolerations",
        ),
        broken(
            TAINTED,
            ("nodeTaints", 0),
            "nvidia.com/gpu=present:NoSchedule",
            output(FREE_CHART, "chart", "the device plugin's chart", "the pools tainted", APART),
        ),
    ),
    passes(
        (FREE_DRIVER, FREE_OPERATOR, TAINTED),
        broken(
            FREE_OPERATOR,
            ("values", "daemonsets"),
            {"tolerations": [TOLERATION]},
            OF_FREE_OPERATOR,
            "values.daemonsets",
        ),
        # Nothing reports what a version tolerates that is unknown.
        broken(FREE_OPERATOR, ("version",), "v99.1.0", OF_FREE_OPERATOR),
    ),
    passes(
        (
            release("driver", "dra-driver-nvidia-gpu", "0.5.0", {}),
            gke_pool("kept-off", {GPU_PRESENT: "true"}, [TAINT]),
        ),
        broken(
            gke_pool("kept-off", {}, []),
            ("nodeConfig", "taints"),
            [],
            output(
                gke_pool("kept-off", {}, []),
                "nodeConfig.labels",
                "GKE's device plugin",
                "the pool kept-off",
                f'add the label {TRIPLE[0]}: "true" to the pool',
            ),
            "nodeConfig.taints",
        ),
    ),
)

CASES = {"node-limit-advertisers": LIMIT_ADVERTISERS}
