"""The programs of chart-avoid-removed-apis."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

NVIDIA = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
TPU = "oci://registry.k8s.io/dra-driver-google/charts/dra-driver-google-tpu"


def chart(name: str, version: str) -> Declared:
    properties = {"chart": name, "version": version}
    return Declared(type="kubernetes:helm.sh/v3:Release", name="c", properties=properties)


CASES = (
    RuleCase(
        passing=(chart(NVIDIA, "0.2.0"),),
        breaks=(
            Break(
                resource="c",
                path=("chart",),
                value=TPU,
                messages=(
                    said(
                        chart(TPU, "0.2.0"),
                        "chart 0.2.0 needs resource.k8s.io/v1beta1, which Kubernetes 1.38 (planned for "
                        "2026-12-16) removes",
                        "a version that needs resource.k8s.io/v1 only",
                        "use a version of the driver that needs resource.k8s.io/v1 only, or stay on 1.37",
                    ),
                ),
                unknown="chart",
            ),
        ),
    ),
)
