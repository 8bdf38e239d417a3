"""The programs of class-require-selector."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

GOOD = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClass",
    name="large",
    properties={
        "metadata": {"name": "large"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
    },
)
PATCH = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClassPatch",
    name="labels",
    properties={"metadata": {"name": "large", "labels": {"team": "ml"}}},
)
MESSAGE = said(
    GOOD,
    "spec.selectors is empty: the class matches every device of every driver",
    "at least one selector",
    "select the driver, for example device.driver == 'gpu.nvidia.com'",
)
PLACE = "spec.selectors"
SEVERAL = said(
    GOOD,
    "spec.selectors select devices of several drivers, such as gpu.nvidia.com and compute-domain.nvidia.com",
    "devices of one driver",
    "select the driver, for example device.driver == 'gpu.nvidia.com'",
)
EXPRESSION = ("spec", "selectors", 0, "cel", "expression")

CASES = (
    RuleCase(
        passing=(GOOD, PATCH),
        breaks=(
            Break(resource="large", path=("spec", "selectors"), value=[], messages=(MESSAGE,), unknown=PLACE),
            Break(
                resource="large", path=EXPRESSION, value="1 == 1 || device.driver == ''", messages=(SEVERAL,)
            ),
            Break(resource="large", path=("spec", "selectors"), value=REMOVED, messages=(MESSAGE,)),
            Break(resource="large", path=("spec",), value=REMOVED, messages=(MESSAGE,), unknown="spec"),
        ),
    ),
)
