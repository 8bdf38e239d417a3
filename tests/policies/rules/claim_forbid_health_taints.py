"""The programs of claim-forbid-health-taints."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

PATH = ("spec", "devices", "requests", 0, "exactly", "tolerations")
PLACE = "spec.devices.requests[0].exactly.tolerations"
ALLOWED = "tolerations of other taints, each by its key"
FIX = "tolerate another key, or list the namespace in namespaces of claim-forbid-health-taints"


def claim(namespace: str, toleration: dict[str, Any]) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "tolerations": [toleration]}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaim",
        name="one",
        properties={
            "metadata": {"name": "one", "namespace": namespace},
            "spec": {"devices": {"requests": [request]}},
        },
    )


RESERVED = claim("team", {"key": "example.com/reserved", "operator": "Exists"})
DIAGNOSIS = claim("repair", {"operator": "Exists"})
BROKEN = "tolerates 'gpu.nvidia.com/gpu-lost', a taint of broken devices"

CASES = (
    RuleCase(
        passing=(RESERVED,),
        breaks=(
            Break(
                resource="one",
                path=(*PATH, 0, "key"),
                value="gpu.nvidia.com/gpu-lost",
                messages=(said(RESERVED, f"{PLACE}[0] {BROKEN}", ALLOWED, FIX),),
                unknown=f"{PLACE}[0].key",
            ),
            Break(
                resource="one",
                path=(*PATH, 0, "key"),
                value=REMOVED,
                messages=(said(RESERVED, f"{PLACE}[0] tolerates every taint", ALLOWED, FIX),),
            ),
            Break(
                resource="one",
                path=PATH,
                value=[{"key": "", "operator": "Exists"}],
                messages=(said(RESERVED, f"{PLACE}[0] tolerates every taint", ALLOWED, FIX),),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"namespaces": ["repair"]},
        passing=(DIAGNOSIS,),
        breaks=(
            Break(
                resource="one",
                path=("metadata", "namespace"),
                value="team",
                messages=(said(DIAGNOSIS, f"{PLACE}[0] tolerates every taint", ALLOWED, FIX),),
                unknown="metadata.namespace",
            ),
        ),
    ),
)
