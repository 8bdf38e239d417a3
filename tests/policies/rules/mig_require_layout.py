"""The programs of mig-require-layout."""

from __future__ import annotations

from typing import Any

from dra_fleet.drivers.nvidia.labels import MIG_CONFIG as LABEL
from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said


def operator(**values: Any) -> Declared:
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name="operator",
        properties={"chart": "gpu-operator", "version": "v25.10.0", "values": values},
    )


def pool(**labels: str) -> Declared:
    return Declared(
        type="azure-native:containerservice:AgentPool",
        name="pool",
        properties={"vmSize": "Standard_ND96amsr_A100_v4", "nodeLabels": labels},
    )


CLASS = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClass",
    name="class",
    properties={"metadata": {"name": "nvidia-mig"}, "spec": {"selectors": []}},
)
SINGLE = operator(mig={"strategy": "single"})
HOLLOW = said(
    SINGLE,
    "values.mig.strategy is 'single', which makes no partitions, and nothing else of the program does",
    "mig.strategy with partitions, or without mig.strategy",
    f"label the pool's nodes {LABEL}=<layout>, or remove mig.strategy",
)

CASES = (
    RuleCase(
        passing=(operator(mig={"strategy": "none"}), pool(), CLASS),
        breaks=(
            Break(
                resource="operator",
                path=("values", "mig", "strategy"),
                value="single",
                messages=(HOLLOW,),
                unknown="values.mig.strategy",
            ),
        ),
    ),
    RuleCase(
        passing=(SINGLE, pool(**{LABEL: "all-1g.10gb"}), CLASS),
        breaks=(
            Break(
                resource="pool",
                path=("nodeLabels", LABEL),
                value="all-disabled",
                messages=(HOLLOW,),
                # An unknown label can ask for partitions.
                unknown=None,
            ),
        ),
    ),
    # The operator that dra-fleet installs for pools without a layout.
    RuleCase(passing=(operator(mig={"strategy": "single"}, migManager={"enabled": False}), CLASS), breaks=()),
    # Whole GPUs, with the operator's default.
    RuleCase(passing=(SINGLE, pool()), breaks=()),
)
