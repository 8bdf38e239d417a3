"""The programs of claim-limit-count."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

PATH = ("spec", "spec", "devices", "requests", 0, "exactly", "count")
PLACE = "spec.spec.devices.requests[0].exactly.count"
FIX = "lower the count, or raise most of claim-limit-count"


def template(count: int) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
        name="pair",
        properties={
            "metadata": {"name": "pair"},
            "spec": {"spec": {"devices": {"requests": [request, {"name": "nic", "firstAvailable": []}]}}},
        },
    )


MOST = template(16)
TWO = template(2)
ALTERNATIVES = Declared(
    type="kubernetes:resource.k8s.io/v1:ResourceClaim",
    name="either",
    properties={
        "spec": {
            "devices": {
                "requests": [{"name": "gpu", "firstAvailable": [{"name": "large"}, {"name": "small"}]}]
            }
        }
    },
)
SECOND = "spec.devices.requests[0].firstAvailable[1].count"


def requests(*counts: tuple[str, int]) -> Declared:
    """A claim with a request of each class and count."""
    asked = [
        {"name": f"r{index}", "exactly": {"deviceClassName": name, "count": count}}
        for index, (name, count) in enumerate(counts)
    ]
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaim",
        name="sum",
        properties={"spec": {"devices": {"requests": asked}}},
    )


SEVERAL = requests(("gpu.nvidia.com", 8), ("mig.nvidia.com", 8), ("dra.net", 16))

CASES = (
    RuleCase(
        passing=(MOST,),
        breaks=(
            Break(
                resource="pair",
                path=PATH,
                value=17,
                messages=(said(MOST, f"{PLACE} is 17", "at most 16", FIX),),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"most": 2},
        passing=(TWO,),
        breaks=(
            Break(
                resource="pair",
                path=PATH,
                value=3.0,
                messages=(said(TWO, f"{PLACE} is 3.0", "at most 2", FIX),),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(
        passing=(ALTERNATIVES,),
        breaks=(
            Break(
                resource="either",
                path=("spec", "devices", "requests", 0, "firstAvailable", 1, "count"),
                value=32,
                messages=(said(ALTERNATIVES, f"{SECOND} is 32", "at most 16", FIX),),
                unknown=SECOND,
            ),
        ),
    ),
    RuleCase(
        passing=(SEVERAL,),
        breaks=(
            Break(
                resource="sum",
                path=("spec", "devices", "requests", 1, "exactly", "count"),
                value=9,
                messages=(
                    said(
                        SEVERAL,
                        "spec.devices.requests ask for 17 devices of gpu.nvidia.com together, "
                        "all of one node",
                        "at most 16",
                        FIX,
                    ),
                ),
            ),
        ),
    ),
)
