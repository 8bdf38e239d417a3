"""Programs of the rules on the taints that plugins of drivers tolerate."""

from typing import Any

from dra_fleet.clouds.gke import TPU_DRA
from dra_fleet.policy.rule_cases import Declared, said
from policies.rules.toleration import ALLOWED
from tests.policies.rules._building import breaking, passes

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TOKEN = "kubernetes:helm.sh/v3:Release"  # noqa: S105 - a type token
OLD = Declared(
    type=TOKEN,
    name="driver",
    properties={
        "chart": "nvidia-dra-driver-gpu",
        "version": "25.8.1",
        "values": {"kubeletPlugin": {"tolerations": [dict(TOLERATION)]}},
    },
)
NEW = Declared(type=TOKEN, name="driver", properties={"chart": "dra-driver-nvidia-gpu", "version": "0.4.1"})
MESSAGE = said(
    OLD,
    "values.kubeletPlugin.tolerations does not tolerate the taint nvidia.com/gpu:NoSchedule, "
    "so nodes with it, such as GKE's, publish no devices",
    "a toleration of nvidia.com/gpu",
    "add {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule} to kubeletPlugin.tolerations",
)
PLACE = "values.kubeletPlugin.tolerations"

REQUIRE_GPU_TOLERATION = (
    passes(
        (OLD,),
        breaking(
            "driver",
            ("values", "kubeletPlugin", "tolerations"),
            [{"key": "sku", "operator": "Exists"}],
            MESSAGE,
            unknown=PLACE,
        ),
    ),
    passes(
        (NEW,), breaking("driver", ("values", "kubeletPlugin", "tolerations"), [], MESSAGE, unknown=PLACE)
    ),
    # The pool that the plugin serves is declared, and its nodes have no taint.
    passes(
        (
            Declared(
                type="alicloud:cs/nodePool:NodePool",
                name="a10",
                properties={"instanceTypes": ["ecs.gn7i-c8g1.2xlarge"]},
            ),
            Declared(
                type=TOKEN,
                name="driver",
                properties={
                    "chart": "nvidia-dra-driver-gpu",
                    "version": "25.3.2",
                    "values": {"kubeletPlugin": {"affinity": None}, "gpuResourcesEnabledOverride": True},
                },
            ),
        )
    ),
)


PATH = ("values", "kubeletPlugin", "tolerations")
LABELS = {"nvidia.com/gpu.present": "true"}
ANY_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TEAM = {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}


def driver(*tolerations: dict[str, str], version: str = "0.5.0") -> Declared:
    values: dict[str, Any] = {"kubeletPlugin": {"tolerations": list(tolerations)}} if tolerations else {}
    chart = "dra-driver-nvidia-gpu" if version.startswith("0.") else "nvidia-dra-driver-gpu"
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name="driver",
        properties={"chart": chart, "version": version, "values": values},
    )


def aks(*taints: str, **more: Any) -> Declared:
    return Declared(
        type="azure-native:containerservice:AgentPool",
        name="gpus",
        properties={
            "vmSize": "Standard_NC24ads_A100_v4",
            "nodeLabels": LABELS,
            "nodeTaints": list(taints),
            **more,
        },
    )


GKE = Declared(
    type="gcp:container/nodePool:NodePool",
    name="gpus",
    properties={
        "nodeConfig": {
            "machineType": "g2-standard-4",
            "labels": LABELS,
            "taints": [{"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}],
        }
    },
)
SOFT = aks("team=ml:PreferNoSchedule", "nvidia.com/gpu=present:NoSchedule")
UNLABELLED = Declared(
    type="azure-native:containerservice:AgentPool",
    name="other",
    properties={"vmSize": "Standard_NC24ads_A100_v4", "nodeTaints": ["only=other:NoSchedule"]},
)


def missing(taint: str, fix: str) -> str:
    problem = (
        f"{PLACE} does not tolerate the taint {taint} of the pool gpus, so no devices are published there"
    )
    return said(driver(), problem, ALLOWED, f"add {{{fix}}} to kubeletPlugin.tolerations")


TEAM_MISSING = missing("team=ml:NoSchedule", "key: team, operator: Equal, value: ml, effect: NoSchedule")
GPU_MISSING = missing(
    "nvidia.com/gpu=present:NoSchedule",
    "key: nvidia.com/gpu, operator: Equal, value: present, effect: NoSchedule",
)
SPOT = "kubernetes.azure.com/scalesetpriority"


def release(name: str, chart: str, version: str, values: dict[str, Any]) -> Declared:
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name=name,
        properties={"chart": chart, "version": version, "values": values},
    )


def tpus(name: str, labels: dict[str, str], **node: Any) -> Declared:
    return Declared(
        type="gcp:container/nodePool:NodePool",
        name=name,
        properties={"nodeConfig": {"machineType": "ct6e-standard-4t", "labels": labels, **node}},
    )


def nodes(name: str, machine: str, key: str, value: str) -> Declared:
    return Declared(
        type="aws:eks/nodeGroup:NodeGroup",
        name=name,
        properties={
            "instanceTypes": [machine],
            "taints": [{"key": key, "value": value, "effect": "NO_SCHEDULE"}],
        },
    )


def lacking(declared: Declared, place: str, pool: str, taint: str, rest: str) -> str:
    key = taint.partition(":")[0].partition("=")[0]
    return said(
        declared,
        f"{place} does not tolerate the taint {taint} of the pool {pool}, so no devices are published there",
        ALLOWED,
        f"add {{key: {key}, {rest}}} to {place.removeprefix('values.')}",
    )


TPU = release(
    "tpu",
    "oci://registry.k8s.io/dra-driver-google/charts/dra-driver-google-tpu",
    "0.1.0",
    {"kubeletPlugin": {"tolerations": [{"key": "google.com/tpu", "operator": "Exists"}]}},
)
TPU_POOL = tpus("chips", {TPU_DRA: "true"})
UNMEANT_TPU_POOL = tpus(
    "plain", {TPU_DRA: "false"}, taints=[{"key": "only", "value": "other", "effect": "NO_SCHEDULE"}]
)
NO_CHIPS = lacking(
    TPU,
    PLACE,
    "chips",
    "google.com/tpu=present:NoSchedule",
    "operator: Equal, value: present, effect: NoSchedule",
)
EFA = release("efa", "eks/aws-dranet", "1.0.0", {"tolerations": [ANY_GPU]})
EFA_POOL = nodes("cards", "p5.48xlarge", "nvidia.com/gpu", "present")
OTHER_GROUP = nodes("other", "m7i.large", "only", "other")
NO_CARDS = lacking(
    EFA,
    "values.tolerations",
    "cards",
    "nvidia.com/gpu=present:NoSchedule",
    "operator: Equal, value: present, effect: NoSchedule",
)
EXAMPLE = release(
    "example",
    "dra-example-driver",
    "0.4.0",
    {"kubeletPlugin": {"nodeSelector": {"devices": "made-up"}, "tolerations": [TEAM]}},
)
EXAMPLE_POOL = Declared(
    type="azure-native:containerservice:AgentPool",
    name="made-up",
    properties={
        "vmSize": "Standard_D4s_v5",
        "nodeLabels": {"devices": "made-up"},
        "nodeTaints": ["team=ml:NoSchedule"],
    },
)

TOLERATE_POOL_TAINTS = (
    passes(
        (driver(ANY_GPU, TEAM), GKE, UNLABELLED),
        breaking("driver", PATH, [ANY_GPU], TEAM_MISSING, unknown=PLACE),
        breaking("driver", PATH, [TEAM], GPU_MISSING),
        breaking("driver", PATH, [{"operator": "Exists"}]),
        breaking("driver", (*PATH, 1, "effect"), "NoExecute", TEAM_MISSING),
    ),
    passes(
        (driver(), SOFT),
        breaking(
            "gpus",
            ("nodeTaints",),
            ["team=ml:NoSchedule", "lonely:NoExecute"],
            TEAM_MISSING,
            missing("lonely:NoExecute", "key: lonely, operator: Exists, effect: NoExecute"),
            unknown="nodeTaints",
        ),
        breaking(
            "gpus",
            ("scaleSetPriority",),
            "Spot",
            missing(
                f"{SPOT}=spot:NoSchedule", f"key: {SPOT}, operator: Equal, value: spot, effect: NoSchedule"
            ),
            unknown="scaleSetPriority",
        ),
    ),
    passes((driver(ANY_GPU, version="25.8.1"), SOFT), breaking("driver", ("values",), {}, GPU_MISSING)),
    passes(
        (TPU, TPU_POOL, UNMEANT_TPU_POOL, GKE),
        breaking("tpu", PATH, [{"key": "google.com/gpu", "operator": "Exists"}], NO_CHIPS, unknown=PLACE),
        breaking("tpu", ("values",), {}, NO_CHIPS),
        breaking(
            "chips",
            ("nodeConfig", "taints"),
            [{"key": "team", "value": "ml", "effect": "NO_EXECUTE"}],
            lacking(
                TPU, PLACE, "chips", "team=ml:NoExecute", "operator: Equal, value: ml, effect: NoExecute"
            ),
            unknown="nodeConfig.taints",
        ),
        breaking(
            "plain",
            ("nodeConfig", "labels", TPU_DRA),
            "true",
            lacking(
                TPU,
                PLACE,
                "plain",
                "only=other:NoSchedule",
                "operator: Equal, value: other, effect: NoSchedule",
            ),
        ),
    ),
    passes(
        (EFA, EFA_POOL, OTHER_GROUP),
        breaking("efa", ("values", "tolerations"), [], NO_CARDS, unknown="values.tolerations"),
        breaking(
            "other",
            ("instanceTypes", 0),
            "p5.48xlarge",
            lacking(
                EFA,
                "values.tolerations",
                "other",
                "only=other:NoSchedule",
                "operator: Equal, value: other, effect: NoSchedule",
            ),
            unknown="instanceTypes[0]",
        ),
        breaking(
            "other", ("taints",), [{"key": "CriticalAddonsOnly", "value": "true", "effect": "NO_SCHEDULE"}]
        ),
    ),
    passes(
        (EXAMPLE, EXAMPLE_POOL, UNLABELLED),
        breaking(
            "example",
            PATH,
            [ANY_GPU],
            lacking(
                EXAMPLE,
                PLACE,
                "made-up",
                "team=ml:NoSchedule",
                "operator: Equal, value: ml, effect: NoSchedule",
            ),
            unknown=PLACE,
        ),
        # Sent nowhere in particular, it is not meant for every pool of the cluster.
        breaking("example", ("values", "kubeletPlugin"), {}),
    ),
    passes((driver(), aks("node.cilium.io/agent-not-ready=true:NoExecute"))),
)

CASES = {
    "driver-require-gpu-toleration": REQUIRE_GPU_TOLERATION,
    "driver-tolerate-pool-taints": TOLERATE_POOL_TAINTS,
}
