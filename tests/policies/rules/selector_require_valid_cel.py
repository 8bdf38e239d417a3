"""The programs of selector-require-valid-cel."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

PATH = ("spec", "selectors", 0, "cel", "expression")
PLACE = "spec.selectors[0].cel.expression"
UNDEFINED = "compilation failed: ERROR: <input>:1:7: undefined field '{}' (in container '')"
GOOD = "device.driver == 'gpu.nvidia.com'"


def device_class(expression: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name="large",
        properties={"spec": {"selectors": [{"cel": {"expression": expression}}]}},
    )


def refused(declared: Declared, minor: str, reason: str) -> str:
    return said(
        declared,
        f"{PLACE} is rejected by Kubernetes {minor}: {reason}",
        "an expression that compiles to true or false there",
        "correct the expression",
    )


def wrong(expression: str, reason: str) -> Break:
    return Break(
        resource="large",
        path=PATH,
        value=expression,
        messages=(refused(device_class(expression), "1.37", reason),),
        unknown=PLACE,
    )


NEW = device_class("device.allowMultipleAllocations == true")
LAB = Declared(type="dra-fleet:clouds:ExistingCluster", name="lab", properties={"kubernetes": "1.36"})
TEMPLATE = Declared(
    type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
    name="either",
    properties={
        "spec": {
            "spec": {
                "devices": {
                    "requests": [
                        {"firstAvailable": [{}, {"selectors": [{"cel": {"expression": "true"}}]}]},
                    ]
                }
            }
        }
    },
)
INNER = "spec.spec.devices.requests[0].firstAvailable[1].selectors[0].cel.expression"

CASES = (
    RuleCase(
        passing=(device_class(GOOD),),
        breaks=(
            wrong("device.drivr == 'x'", UNDEFINED.format("drivr")),
            wrong("device.driver", "must evaluate to bool or the unknown type, not string"),
            wrong(
                "1 == '1'",
                "compilation failed: ERROR: <input>:1:3: found no matching overload for '_==_' applied to "
                "'(int, string)'",
            ),
        ),
    ),
    RuleCase(
        passing=(LAB, NEW),
        breaks=(
            Break(
                resource="lab",
                path=("kubernetes",),
                value="1.35",
                messages=(refused(NEW, "1.35", UNDEFINED.format("allowMultipleAllocations")),),
            ),
        ),
    ),
    RuleCase(
        passing=(TEMPLATE,),
        breaks=(
            Break(
                resource="either",
                path=(
                    *("spec", "spec", "devices", "requests", 0, "firstAvailable", 1),
                    *("selectors", 0, "cel", "expression"),
                ),
                value="devic",
                messages=(
                    said(
                        TEMPLATE,
                        f"{INNER} is rejected by Kubernetes 1.37: compilation failed: ERROR: <input>:1:1: "
                        "undeclared reference to 'devic' (in container '')",
                        "an expression that compiles to true or false there",
                        "correct the expression",
                    ),
                ),
                unknown=INNER,
            ),
        ),
    ),
)
