"""The programs of pod-require-used-claims."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

POD = Declared(
    type="kubernetes:apps/v1:Deployment",
    name="serve",
    properties={
        "spec": {
            "template": {
                "spec": {
                    "resourceClaims": [
                        {"name": "gpu", "resourceClaimTemplateName": "one"},
                        {"name": "nic", "resourceClaimName": "shared"},
                    ],
                    "initContainers": [
                        {"name": "i", "resources": {"claims": [{"name": "nic", "request": "a"}]}}
                    ],
                    "containers": [{"name": "c", "resources": {"claims": [{"name": "gpu"}]}}, {"name": "d"}],
                }
            }
        }
    },
)
SPEC = ("spec", "template", "spec")
PLACE = "spec.template.spec"


def unused(number: int, name: str) -> str:
    return said(
        POD,
        f"{PLACE}.resourceClaims[{number}] is the claim '{name}', which no container uses",
        "claims that a container names in resources.claims",
        f"add {{name: {name}}} to resources.claims of a container, or remove the claim",
    )


CASES = (
    RuleCase(
        passing=(POD,),
        breaks=(
            Break(
                resource="serve",
                path=(*SPEC, "containers", 0, "resources", "claims"),
                value=[],
                messages=(unused(0, "gpu"),),
                unknown=f"{PLACE}.containers[0].resources.claims",
            ),
            Break(
                resource="serve",
                path=(*SPEC, "initContainers", 0, "resources", "claims", 0, "name"),
                value="gpu",
                messages=(unused(1, "nic"),),
                unknown=f"{PLACE}.initContainers[0].resources.claims[0].name",
            ),
            Break(
                resource="serve",
                path=(*SPEC, "initContainers"),
                value=REMOVED,
                messages=(unused(1, "nic"),),
                unknown=f"{PLACE}.initContainers",
            ),
            Break(
                resource="serve",
                path=(*SPEC, "resourceClaims", 0, "name"),
                value="other",
                messages=(unused(0, "other"),),
                unknown=f"{PLACE}.resourceClaims[0].name",
            ),
        ),
    ),
)
