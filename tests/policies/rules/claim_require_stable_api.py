"""The programs of claim-require-stable-api."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

GROUP = "kubernetes:resource.k8s.io"
KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "ResourceClaimPatch")


def case(kind: str) -> RuleCase:
    good = Declared(type=f"{GROUP}/v1:{kind}", name="one", properties={"metadata": {"name": "one"}})
    return RuleCase(
        passing=(good,),
        breaks=tuple(broken(kind, version) for version in ("v1beta1", "v1beta2", "v1alpha3")),
    )


def broken(kind: str, version: str) -> Break:
    token = f"{GROUP}/{version}:{kind}"
    message = said(
        Declared(type=token, name="one"),
        f"is declared in resource.k8s.io/{version}",
        "resource.k8s.io/v1",
        f"declare it as kubernetes.resource.v1.{kind}; claims wrap their fields in `exactly` there",
    )
    return Break(resource="one", options={"type": token}, messages=(message,))


TAINT = Declared(type=f"{GROUP}/v1alpha3:DeviceTaintRule", name="drain")
SLICE = Declared(type=f"{GROUP}/v1:ResourceSlice", name="slice")

CASES = (
    *(case(kind) for kind in KINDS),
    RuleCase(passing=(TAINT, SLICE), breaks=()),
)
