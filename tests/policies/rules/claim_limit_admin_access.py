"""The programs of claim-limit-admin-access."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

PLACE = "spec.spec.devices.requests[0].exactly.adminAccess"
PROBLEM = f"{PLACE} is true in the namespace 'team'"
FIX = "leave adminAccess out, or list the namespace in namespaces of claim-limit-admin-access"


def template(namespace: str, *, admin: bool) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "adminAccess": admin}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
        name="monitor",
        properties={
            "metadata": {"name": "monitor", "namespace": namespace},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
    )


TENANT = template("team", admin=False)
MONITORING = template("monitoring", admin=True)

CASES = (
    RuleCase(
        passing=(TENANT,),
        breaks=(
            Break(
                resource="monitor",
                path=("spec", "spec", "devices", "requests", 0, "exactly", "adminAccess"),
                value=True,
                messages=(said(TENANT, PROBLEM, "adminAccess in no namespace", FIX),),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"namespaces": ["monitoring"]},
        passing=(MONITORING,),
        breaks=(
            Break(
                resource="monitor",
                path=("metadata", "namespace"),
                value="team",
                messages=(said(MONITORING, PROBLEM, "adminAccess in monitoring", FIX),),
                unknown="metadata.namespace",
            ),
        ),
    ),
)
