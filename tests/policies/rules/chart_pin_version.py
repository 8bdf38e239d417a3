"""The programs of chart-pin-version."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

NVIDIA = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"


def chart(name: str, **more: Any) -> Declared:
    return Declared(type="kubernetes:helm.sh/v3:Release", name="c", properties={"chart": name, **more})


def unpinned(declared: Declared, shown: str, example: str) -> str:
    return said(
        declared,
        f"version is {shown}, so Helm takes whichever version is the newest",
        "one whole version",
        f"set version: {example}",
    )


def case(declared: Declared, example: str) -> RuleCase:
    wrong = ("0.5", "latest", "", "^0.5.0", "~0.5", ">=0.4.0 <1", "0.5.x", "*")
    return RuleCase(
        passing=(declared,),
        breaks=(
            *(
                Break(
                    resource="c",
                    path=("version",),
                    value=version,
                    messages=(unpinned(declared, repr(version), example),),
                    unknown="version",
                )
                for version in wrong
            ),
            Break(
                resource="c",
                path=("version",),
                value=REMOVED,
                messages=(unpinned(declared, "absent", example),),
            ),
        ),
    )


PASSING = (
    chart(f"{NVIDIA}@sha256:{'0' * 64}"),
    chart("./charts/dra-driver-nvidia-gpu"),
    chart("https://charts.example/dra-driver-nvidia-gpu-0.5.0.tgz"),
    Declared(
        type="kubernetes:argoproj.io/v1alpha1:Application",
        name="c",
        properties={"spec": {"source": {"chart": "dra-driver-nvidia-gpu", "targetRevision": "0.5.0"}}},
    ),
    chart("/charts/dra-driver-nvidia-gpu"),
    chart("grafana"),
)

CASES = (
    case(chart(NVIDIA, version="0.5.0"), '"0.5.1"'),
    case(chart("nvidia-dra-driver-gpu", version="25.12.0-rc.1+build"), '"25.12.0"'),
    case(chart("nvidia/gpu-operator", version="v26.7.0"), '"v26.7.2"'),
    RuleCase(
        passing=(chart(f"{NVIDIA}:0.5.0"),),
        breaks=(
            Break(
                resource="c",
                path=("chart",),
                value=f"{NVIDIA}:latest",
                messages=(unpinned(chart(NVIDIA), "absent", '"0.5.1"'),),
                unknown="chart",
            ),
        ),
    ),
    case(chart("nvidia-device-plugin", version="0.18.0"), "the one that you have tested"),
    *(RuleCase(passing=(declared,), breaks=()) for declared in PASSING),
)
