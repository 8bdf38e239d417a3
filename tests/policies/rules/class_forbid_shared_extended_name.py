"""The programs of class-forbid-shared-extended-name."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

PATH = ("spec", "extendedResourceName")
PLACE = "spec.extendedResourceName"
ALLOWED = "one class for each extended resource name of a cluster"
FIX = "choose another name, or leave it out"


def device_class(name: str, extended: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name=name,
        properties={"spec": {"extendedResourceName": extended}},
    )


LARGE = device_class("large", "example.com/large")
SMALL = device_class("small", "example.com/small")
PATCH = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClassPatch",
    name="again",
    properties={"spec": {"extendedResourceName": "example.com/large"}},
)
CHART = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "nvidia-dra-driver-gpu", "version": "25.12.0"},
)


def twice(name: str, owner: str) -> Break:
    message = said(SMALL, f"{PLACE} is {name!r}, which {owner} answers too", ALLOWED, FIX)
    return Break(resource="small", path=PATH, value=name, messages=(message,), unknown=PLACE)


CASES = (
    RuleCase(passing=(LARGE, PATCH, SMALL), breaks=(twice("example.com/large", "class large"),)),
    RuleCase(
        passing=(CHART, SMALL),
        breaks=(twice("nvidia.com/gpu", "class gpu.nvidia.com of the chart driver"),),
    ),
)
