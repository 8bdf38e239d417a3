"""The programs of claim-require-known-class."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

GROUP = "kubernetes:resource.k8s.io/v1"
FIX = "correct the name, or list it in elsewhere of claim-require-known-class"
PATH = ("spec", "devices", "requests", 0, "exactly", "deviceClassName")
PLACE = "spec.devices.requests[0].exactly.deviceClassName"

CLASS = Declared(type=f"{GROUP}:DeviceClass", name="large", properties={"metadata": {"name": "large"}})
CHART = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "oci://registry.k8s.io/dra-example-driver/charts/dra-example-driver"},
)


def claim(name: str) -> Declared:
    return Declared(
        type=f"{GROUP}:ResourceClaim",
        name="one",
        properties={
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": name}}]}}
        },
    )


def wrong(name: str, known: str) -> Break:
    problem = f"{PLACE} is {name!r}, which neither this program nor a chart of it provides"
    message = said(claim(name), problem, known, FIX)
    return Break(resource="one", path=PATH, value=name, messages=(message,), unknown=PLACE)


CASES = (
    RuleCase(passing=(CLASS, claim("large")), breaks=(wrong("larg", "large"),)),
    RuleCase(
        passing=(CLASS, CHART, claim("gpu.example.com")),
        breaks=(wrong("gpu.nvidia.com", "gpu.example.com, large"),),
    ),
    RuleCase(
        settings={"elsewhere": ["shared"]},
        passing=(claim("shared"),),
        breaks=(wrong("large", "shared"),),
    ),
)
