"""The programs of driver-require-gpu-toleration."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

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

CASES = (
    RuleCase(
        passing=(OLD,),
        breaks=(
            Break(
                resource="driver",
                path=("values", "kubeletPlugin", "tolerations"),
                value=[{"key": "sku", "operator": "Exists"}],
                messages=(MESSAGE,),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(
        passing=(NEW,),
        breaks=(
            Break(
                resource="driver",
                path=("values", "kubeletPlugin", "tolerations"),
                value=[],
                messages=(MESSAGE,),
                unknown=PLACE,
            ),
        ),
    ),
    # The pool that the plugin serves is declared, and its nodes have no taint.
    RuleCase(
        passing=(
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
        ),
        breaks=(),
    ),
)
