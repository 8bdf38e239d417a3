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
    "values.kubeletPlugin.tolerations does not tolerate the taint nvidia.com/gpu:NoSchedule of GPU nodes, "
    "so no devices are published there",
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
)
