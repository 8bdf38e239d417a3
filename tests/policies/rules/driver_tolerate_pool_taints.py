"""The programs of driver-tolerate-pool-taints."""

from __future__ import annotations

from typing import Any

from policies.rules.driver_tolerate_pool_taints import ALLOWED, RULE
from tests.policies.rule_cases import Break, Declared, RuleCase, said

PATH = ("values", "kubeletPlugin", "tolerations")
PLACE = "values.kubeletPlugin.tolerations"
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

CASES = (
    RuleCase(
        rule=RULE,
        passing=(driver(ANY_GPU, TEAM), GKE, UNLABELLED),
        breaks=(
            Break(resource="driver", path=PATH, value=[ANY_GPU], messages=(TEAM_MISSING,), unknown=PLACE),
            Break(resource="driver", path=PATH, value=[TEAM], messages=(GPU_MISSING,)),
            Break(resource="driver", path=PATH, value=[{"operator": "Exists"}], messages=()),
            Break(
                resource="driver",
                path=(*PATH, 1, "effect"),
                value="NoExecute",
                messages=(TEAM_MISSING,),
            ),
        ),
    ),
    RuleCase(
        rule=RULE,
        passing=(driver(), SOFT),
        breaks=(
            Break(
                resource="gpus",
                path=("nodeTaints",),
                value=["team=ml:NoSchedule", "lonely:NoExecute"],
                messages=(
                    TEAM_MISSING,
                    missing("lonely:NoExecute", "key: lonely, operator: Exists, effect: NoExecute"),
                ),
                unknown="nodeTaints",
            ),
            Break(
                resource="gpus",
                path=("scaleSetPriority",),
                value="Spot",
                messages=(
                    missing(
                        f"{SPOT}=spot:NoSchedule",
                        f"key: {SPOT}, operator: Equal, value: spot, effect: NoSchedule",
                    ),
                ),
                unknown="scaleSetPriority",
            ),
        ),
    ),
    RuleCase(
        rule=RULE,
        passing=(driver(ANY_GPU, version="25.8.1"), SOFT),
        breaks=(Break(resource="driver", path=("values",), value={}, messages=(GPU_MISSING,)),),
    ),
)
