"""The programs of driver-forbid-default-namespace."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

ALLOWED = "a namespace of the driver's own"
KUBERNETES = "pulumi:providers:kubernetes"
RELEASE = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "nvidia-dra-driver-gpu", "namespace": "gpus"},
)
BY_PROVIDER = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "dra-example-driver"},
    provider=(KUBERNETES, {"namespace": "gpus"}),
)
OTHER = Declared(type="kubernetes:helm.sh/v3:Release", name="other", properties={"chart": "grafana"})

CASES = (
    RuleCase(
        passing=(RELEASE, OTHER),
        breaks=(
            Break(
                resource="driver",
                path=("namespace",),
                value="default",
                messages=(
                    said(
                        RELEASE,
                        "namespace is 'default'",
                        ALLOWED,
                        "install it into the namespace dra-driver-nvidia-gpu",
                    ),
                ),
                unknown="namespace",
            ),
            Break(
                resource="driver",
                path=("namespace",),
                value=REMOVED,
                messages=(
                    said(
                        RELEASE,
                        "namespace is absent",
                        ALLOWED,
                        "install it into the namespace dra-driver-nvidia-gpu",
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(BY_PROVIDER,),
        breaks=(
            Break(
                resource="driver",
                options={"provider": (KUBERNETES, {"namespace": "default"})},
                messages=(
                    said(
                        BY_PROVIDER,
                        "provider.namespace is 'default'",
                        ALLOWED,
                        "install it into the namespace dra-example-driver",
                    ),
                ),
            ),
        ),
    ),
)
