"""The programs of chart-require-known-version."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

NVIDIA = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"


def chart(name: str, **more: str) -> Declared:
    return Declared(type="kubernetes:helm.sh/v3:Release", name="c", properties={"chart": name, **more})


def unheard(declared: Declared, output: str, known: str, nearest: str) -> str:
    return said(
        declared,
        f"{output}, so the values of {known.partition(': ')[0]} are checked by {nearest}",
        known.partition(": ")[2],
        "use one of these, or compare the values with the chart's own values.yaml",
    )


GPU = "dra-driver-nvidia-gpu: 0.4.0, 0.4.1, 0.5.0, 0.5.1"
OPERATOR = "gpu-operator: v25.10.0, v26.7.0, v26.7.2"
RANGES = ("0.5", "latest", ">=0.4.0 <1")
"""chart-pin-version checks these."""

CASES = (
    RuleCase(
        passing=(chart(NVIDIA, version="0.5.0"),),
        breaks=(
            Break(
                resource="c",
                path=("version",),
                value="99.1.0",
                messages=(
                    unheard(
                        chart(NVIDIA), "version is '99.1.0', which is not in the catalogue", GPU, "0.5.1"
                    ),
                ),
                unknown="version",
            ),
            *(Break(resource="c", path=("version",), value=value, messages=()) for value in RANGES),
            Break(resource="c", path=("version",), value=REMOVED, messages=()),
        ),
    ),
    RuleCase(
        passing=(chart("nvidia/gpu-operator", version="26.7.0"),),
        breaks=(
            Break(
                resource="c",
                path=("version",),
                value="v1.11.0",
                messages=(
                    unheard(
                        chart(""), "version is 'v1.11.0', which is not in the catalogue", OPERATOR, "v25.10.0"
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(chart(f"{NVIDIA}:0.4.1"),),
        breaks=(
            Break(
                resource="c",
                path=("chart",),
                value=f"{NVIDIA}:0.9.9",
                messages=(
                    unheard(
                        chart(""), f"chart is '{NVIDIA}:0.9.9', which is not in the catalogue", GPU, "0.5.1"
                    ),
                ),
                unknown="chart",
            ),
            Break(
                resource="c",
                path=("chart",),
                value=f"{NVIDIA}@sha256:{'0' * 64}",
                messages=(unheard(chart(""), "version is absent", GPU, "0.5.1"),),
            ),
            Break(
                resource="c",
                path=("chart",),
                value="./charts/dra-driver-nvidia-gpu",
                messages=(unheard(chart(""), "version is absent", GPU, "0.5.1"),),
            ),
        ),
    ),
    RuleCase(passing=(chart("grafana", version="1.2.3"),), breaks=()),
)
