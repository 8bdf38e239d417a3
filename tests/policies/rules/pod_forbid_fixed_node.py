"""The programs of pod-forbid-fixed-node."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import UNKNOWN, Break, Declared, RuleCase, said

ALLOWED = "no nodeName on pods with claims"
FIX = "choose the node by nodeSelector: {kubernetes.io/hostname: …}, which the scheduler honours"
CLAIM = {"name": "gpu", "resourceClaimTemplateName": "one"}


def spec(**more: object) -> dict[str, Any]:
    return {"containers": [{"name": "c"}], "resourceClaims": [CLAIM], **more}


POD = Declared(type="kubernetes:core/v1:Pod", name="pod", properties={"spec": spec()})
JOB = Declared(
    type="kubernetes:batch/v1:Job", name="job", properties={"spec": {"template": {"spec": spec()}}}
)
CRON = Declared(
    type="kubernetes:batch/v1:CronJob",
    name="cron",
    properties={"spec": {"jobTemplate": {"spec": {"template": {"spec": spec()}}}}},
)
WITHOUT = Declared(
    type="kubernetes:core/v1:Pod", name="plain", properties={"spec": {"nodeName": UNKNOWN, "containers": []}}
)


def case(declared: Declared, *place: str) -> RuleCase:
    path = (*place, "nodeName")
    dotted = ".".join(path)
    return RuleCase(
        passing=(declared,),
        breaks=(
            Break(
                resource=declared.name,
                path=path,
                value="node-1",
                messages=(said(declared, f"{dotted} is 'node-1'", ALLOWED, FIX),),
                unknown=dotted,
            ),
        ),
    )


CASES = (
    case(POD, "spec"),
    case(JOB, "spec", "template", "spec"),
    case(CRON, "spec", "jobTemplate", "spec", "template", "spec"),
    RuleCase(passing=(WITHOUT,), breaks=()),
)
