"""The programs of claim-forbid-dropped-fields."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import UNKNOWN, Break, Declared, RuleCase, said

GROUP = "kubernetes:resource.k8s.io/v1"
FIX = "run the cluster at 1.36 or newer, or leave the field out"


def cluster(kubernetes: object) -> Declared:
    return Declared(
        type="dra-fleet:clouds:ExistingCluster", name="lab", properties={"kubernetes": kubernetes}
    )


def claim(**exactly: Any) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", **exactly}}
    return Declared(
        type=f"{GROUP}:ResourceClaim", name="one", properties={"spec": {"devices": {"requests": [request]}}}
    )


PLAIN = claim(adminAccess=True)
PATH = ("spec", "devices", "requests", 0, "exactly", "tolerations")
PLACE = "spec.devices.requests[0].exactly.tolerations"
TOLERATED = [{"key": "example.com/reserved", "operator": "Exists"}]
CLASS = Declared(type=f"{GROUP}:DeviceClass", name="large", properties={"spec": {}})


def dropped(minor: str, fields: Declared, place: str, gate: str) -> str:
    problem = f"{place} is dropped by Kubernetes {minor}: {gate} is off there"
    return said(fields, problem, "a cluster of 1.36 or newer", FIX)


NAMED = Break(
    resource="large",
    path=("spec", "extendedResourceName"),
    value="nvidia.com/gpu",
    messages=(dropped("1.35", CLASS, "spec.extendedResourceName", "DRAExtendedResource"),),
    unknown="spec.extendedResourceName",
)
TOLERANT = claim(tolerations=TOLERATED)

CASES = (
    RuleCase(
        passing=(cluster("1.34"), PLAIN),
        breaks=(
            Break(
                resource="one",
                path=PATH,
                value=TOLERATED,
                messages=(dropped("1.34", PLAIN, PLACE, "DRADeviceTaints"),),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(passing=(cluster("1.35"), CLASS), breaks=(NAMED,)),
    RuleCase(
        passing=(cluster("1.36"), TOLERANT),
        breaks=(
            Break(
                resource="lab",
                path=("kubernetes",),
                value="1.35",
                messages=(dropped("1.35", TOLERANT, PLACE, "DRADeviceTaints"),),
            ),
        ),
    ),
    RuleCase(passing=(cluster("1.99"), TOLERANT), breaks=()),
    RuleCase(passing=(cluster(UNKNOWN), PLAIN), breaks=()),
    RuleCase(
        passing=(PLAIN,),
        breaks=(
            Break(
                resource="one",
                path=PATH,
                value=TOLERATED,
                messages=(
                    said(
                        PLAIN,
                        f"{PLACE} needs the feature gate DRADeviceTaints, and the program does not say which "
                        "Kubernetes stores it",
                        "a cluster of 1.36 or newer",
                        "set kubernetes of claim-forbid-dropped-fields to the cluster's minor",
                    ),
                ),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(settings={"kubernetes": "1.36"}, passing=(TOLERANT,), breaks=()),
)
