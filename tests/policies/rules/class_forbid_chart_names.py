"""The programs of class-forbid-chart-names."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

FIX = "choose another name, or list it in own of class-forbid-chart-names where no chart is installed"
ALLOWED = "a name that no driver's chart owns"


def device_class(name: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass", name="c", properties={"metadata": {"name": name}}
    )


LARGE = device_class("large")
OWN = device_class("gpu.nvidia.com")


def renamed(declared: Declared, name: str, chart: str) -> Break:
    problem = f"metadata.name is {name!r}, which the chart {chart} installs"
    return Break(
        resource="c",
        path=("metadata", "name"),
        value=name,
        messages=(said(declared, problem, ALLOWED, FIX),),
        unknown="metadata.name",
    )


CASES = (
    RuleCase(
        passing=(LARGE,),
        breaks=(
            renamed(LARGE, "mig.nvidia.com", "dra-driver-nvidia-gpu"),
            renamed(LARGE, "tpu.google.com", "dra-driver-google-tpu"),
            renamed(LARGE, "gpu.example.com", "dra-example-driver"),
        ),
    ),
    RuleCase(
        settings={"own": ["gpu.nvidia.com"]},
        passing=(OWN,),
        breaks=(renamed(OWN, "vfio.gpu.nvidia.com", "dra-driver-nvidia-gpu"),),
    ),
)
