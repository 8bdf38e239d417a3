"""The programs of chart-forbid-gate-conflicts."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said


def driver(version: str, **gates: bool) -> Declared:
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name="driver",
        properties={
            "chart": "nvidia-dra-driver-gpu",
            "version": version,
            "values": {"featureGates": gates},
        },
    )


DYNAMIC = driver("25.12.0", DynamicMIG=True, MPSSupport=False)
CLIQUES = driver("25.12.0", IMEXDaemonsWithDNSNames=True)
FUTURE = driver("99.0.0", DynamicMIG=True)


def excluded(declared: Declared, other: str) -> str:
    return said(
        declared,
        f"values.featureGates.DynamicMIG excludes {other}, which is on too; every pod of the driver would "
        "crash-loop",
        f"one of DynamicMIG and {other}",
        f"set DynamicMIG or {other} to false",
    )


NEEDED = said(
    CLIQUES,
    "values.featureGates.ComputeDomainCliques needs IMEXDaemonsWithDNSNames, which is off; every pod of the "
    "driver would crash-loop",
    "ComputeDomainCliques together with IMEXDaemonsWithDNSNames",
    "set IMEXDaemonsWithDNSNames: true, or ComputeDomainCliques: false as well",
)
GATES = ("values", "featureGates")

CASES = (
    RuleCase(
        passing=(DYNAMIC,),
        breaks=(
            Break(
                resource="driver",
                path=(*GATES, "MPSSupport"),
                value=True,
                messages=(excluded(DYNAMIC, "MPSSupport"),),
                unknown="values.featureGates.MPSSupport",
            ),
        ),
    ),
    RuleCase(
        passing=(CLIQUES,),
        breaks=(
            Break(
                resource="driver",
                path=(*GATES, "IMEXDaemonsWithDNSNames"),
                value=False,
                messages=(NEEDED,),
                unknown="values.featureGates.IMEXDaemonsWithDNSNames",
            ),
        ),
    ),
    RuleCase(
        passing=(FUTURE,),
        breaks=(
            Break(
                resource="driver",
                path=(*GATES, "PassthroughSupport"),
                value=True,
                messages=(excluded(FUTURE, "PassthroughSupport"),),
            ),
        ),
    ),
)
