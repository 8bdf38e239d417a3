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

CASES = (
    RuleCase(
        passing=(GOOD, PATCH),
        breaks=(
            Break(resource="large", path=("spec", "selectors"), value=[], messages=(MESSAGE,), unknown=PLACE),
            Break(resource="large", path=("spec", "selectors"), value=REMOVED, messages=(MESSAGE,)),
            Break(resource="large", path=("spec",), value=REMOVED, messages=(MESSAGE,), unknown="spec"),
        ),
    ),
)
