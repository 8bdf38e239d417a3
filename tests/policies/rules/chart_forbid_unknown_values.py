"""The programs of chart-forbid-unknown-values."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import UNKNOWN, Break, Declared, RuleCase, said

REQUIRED = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "example.com/pool", "operator": "In", "values": ["h100"]}]}
        ]
    }
}
TOKEN = "kubernetes:helm.sh/v3:Release"  # noqa: S105 - a type token
DRIVER = Declared(
    type=TOKEN,
    name="driver",
    properties={
        "chart": "nvidia-dra-driver-gpu",
        "version": "25.12.0",
        "values": {
            "nvidiaDriverRoot": "/",
            "resources": {"gpus": {"enabled": True}, "computeDomains": {"enabled": False}},
            "featureGates": {"TimeSlicingSettings": True},
            "controller": {"affinity": None, "tolerations": [UNKNOWN]},
            "kubeletPlugin": {"affinity": {"nodeAffinity": REQUIRED, "anything": UNKNOWN}},
        },
    },
)
OPERATOR = Declared(
    type=TOKEN,
    name="operator",
    properties={
        "chart": "gpu-operator",
        "version": "v25.10.0",
        "values": {"driver": {"enabled": False}, "node-feature-discovery": {"worker": {"a": 1}}},
    },
)
SECTION = "resources.computeDomains"
UNHEARD = Declared(
    type=TOKEN,
    name="future",
    properties={"chart": "nvidia-dra-driver-gpu", "version": "99.1.0", "values": {"new": UNKNOWN}},
)


def wrong(declared: Declared, key: str, value: object, output: tuple[str, str, str], *, known: bool) -> Break:
    place = f"values.{key}"
    problem, allowed, fix = output
    return Break(
        resource=declared.name,
        path=("values", *key.split(".")),
        value=value,
        messages=(said(declared, f"{place} {problem}", allowed, fix),),
        unknown=place if known else None,
    )


CASES = (
    RuleCase(
        passing=(DRIVER, OPERATOR, UNHEARD),
        breaks=(
            wrong(
                DRIVER,
                "nvidiaDriverRoot",
                5,
                ("is 5 and must be a string", "a string", "write a string"),
                known=True,
            ),
            wrong(
                DRIVER,
                "resources.computeDomains",
                "off",
                ("is 'off' and must be a mapping", "a mapping", "write a mapping"),
                known=True,
            ),
            wrong(
                DRIVER,
                "resources-computeDomains",
                {"enabled": False},
                (
                    "is not a value of chart 25.12.0; Helm would ignore it silently",
                    f"{SECTION}, {SECTION}.enabled, resources.gpus; 92 are known",
                    "did you mean resources.computeDomains?",
                ),
                known=False,
            ),
            wrong(
                DRIVER,
                "featureGates.TimeSlicingSettings",
                "yes",
                ("is 'yes' and must be true or false", "true or false", "write true or false"),
                known=True,
            ),
            wrong(
                OPERATOR,
                "driver.enable",
                False,
                (
                    "is not a value of chart v25.10.0; Helm would ignore it silently",
                    "driver.enabled, driver.rdma.enabled, driver.env; 281 are known",
                    "did you mean driver.enabled?",
                ),
                known=False,
            ),
            Break(
                resource="driver",
                path=("values", "resources.gpus.enabled"),
                value=True,
                messages=(
                    said(
                        DRIVER,
                        "values.resources.gpus.enabled is one key with dots in it, which Helm ignores "
                        "silently",
                        "one key below the other",
                        "write resources: {gpus: {enabled: …}}",
                    ),
                ),
            ),
        ),
    ),
)
