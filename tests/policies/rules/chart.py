"""Programs of the rules on releases of charts."""

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, UNKNOWN, Break, Declared, RuleCase, said
from tests.policies.rules._building import breaking, passes

NVIDIA = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
TPU = "oci://registry.k8s.io/dra-driver-google/charts/dra-driver-google-tpu"


def chart_removed_apis(name: str, version: str) -> Declared:
    properties = {"chart": name, "version": version}
    return Declared(type="kubernetes:helm.sh/v3:Release", name="c", properties=properties)


AVOID_REMOVED_APIS = (
    passes(
        (chart_removed_apis(NVIDIA, "0.2.0"),),
        breaking(
            "c",
            ("chart",),
            TPU,
            said(
                chart_removed_apis(TPU, "0.2.0"),
                "chart 0.2.0 needs resource.k8s.io/v1beta1, which Kubernetes 1.38 (planned for "
                "2026-12-16) removes",
                "a version that needs resource.k8s.io/v1 only",
                "use a version of the driver that needs resource.k8s.io/v1 only, or stay on 1.37",
            ),
            unknown="chart",
        ),
    ),
)


def driver(version: str, **gates: bool) -> Declared:
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name="driver",
        properties={"chart": "nvidia-dra-driver-gpu", "version": version, "values": {"featureGates": gates}},
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

FORBID_GATE_CONFLICTS = (
    passes(
        (DYNAMIC,),
        breaking(
            "driver",
            (*GATES, "MPSSupport"),
            True,
            excluded(DYNAMIC, "MPSSupport"),
            unknown="values.featureGates.MPSSupport",
        ),
    ),
    passes(
        (CLIQUES,),
        breaking(
            "driver",
            (*GATES, "IMEXDaemonsWithDNSNames"),
            False,
            NEEDED,
            unknown="values.featureGates.IMEXDaemonsWithDNSNames",
        ),
    ),
    passes(
        (FUTURE,),
        breaking("driver", (*GATES, "PassthroughSupport"), True, excluded(FUTURE, "PassthroughSupport")),
    ),
)


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
UNKNOWN_VALUES_OPERATOR = Declared(
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
    return breaking(
        declared.name,
        ("values", *key.split(".")),
        value,
        said(declared, f"{place} {problem}", allowed, fix),
        unknown=place if known else None,
    )


FORBID_UNKNOWN_VALUES = (
    passes(
        (DRIVER, UNKNOWN_VALUES_OPERATOR, UNHEARD),
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
            UNKNOWN_VALUES_OPERATOR,
            "driver.enable",
            False,
            (
                "is not a value of chart v25.10.0; Helm would ignore it silently",
                "driver.enabled, driver.rdma.enabled, driver.env; 330 are known",
                "remove it",
            ),
            known=False,
        ),
        breaking(
            "driver",
            ("values", "resources.gpus.enabled"),
            True,
            said(
                DRIVER,
                "values.resources.gpus.enabled is one key with dots in it, which Helm ignores silently",
                "one key below the other",
                "write resources: {gpus: {enabled: …}}",
            ),
        ),
    ),
)


def chart_version(name: str, **more: Any) -> Declared:
    return Declared(type="kubernetes:helm.sh/v3:Release", name="c", properties={"chart": name, **more})


def unpinned(declared: Declared, shown: str, example: str) -> str:
    return said(
        declared,
        f"version is {shown}, so Helm takes whichever version is the newest",
        "one whole version",
        f"set version: {example}",
    )


def case(declared: Declared, example: str) -> RuleCase:
    wrong = ("0.5", "latest", "", "^0.5.0", "~0.5", ">=0.4.0 <1", "0.5.x", "*")
    return passes(
        (declared,),
        *(
            breaking(
                "c", ("version",), version, unpinned(declared, repr(version), example), unknown="version"
            )
            for version in wrong
        ),
        breaking("c", ("version",), REMOVED, unpinned(declared, "absent", example)),
    )


PASSING = (
    chart_version(f"{NVIDIA}@sha256:{'0' * 64}"),
    chart_version("./charts/dra-driver-nvidia-gpu"),
    chart_version("https://charts.example/dra-driver-nvidia-gpu-0.5.0.tgz"),
    Declared(
        type="kubernetes:argoproj.io/v1alpha1:Application",
        name="c",
        properties={"spec": {"source": {"chart": "dra-driver-nvidia-gpu", "targetRevision": "0.5.0"}}},
    ),
    chart_version("/charts/dra-driver-nvidia-gpu"),
    chart_version("grafana"),
)

PIN_VERSION = (
    case(chart_version(NVIDIA, version="0.5.0"), '"0.5.1"'),
    case(chart_version("nvidia-dra-driver-gpu", version="25.12.0-rc.1+build"), '"25.12.0"'),
    case(chart_version("nvidia/gpu-operator", version="v26.7.0"), '"v26.7.2"'),
    passes(
        (chart_version(f"{NVIDIA}:0.5.0"),),
        breaking(
            "c",
            ("chart",),
            f"{NVIDIA}:latest",
            unpinned(chart_version(NVIDIA), "absent", '"0.5.1"'),
            unknown="chart",
        ),
    ),
    case(chart_version("nvidia-device-plugin", version="0.18.0"), "the one that you have tested"),
    *(passes((declared,)) for declared in PASSING),
)


def chart_known_version(name: str, **more: str) -> Declared:
    return Declared(type="kubernetes:helm.sh/v3:Release", name="c", properties={"chart": name, **more})


def unheard(declared: Declared, output: str, known: str, nearest: str) -> str:
    return said(
        declared,
        f"{output}, so the values of {known.partition(': ')[0]} are checked by {nearest}",
        known.partition(": ")[2],
        "use one of these, or compare the values with the chart's own values.yaml",
    )


GPU = "dra-driver-nvidia-gpu: 0.4.0, 0.4.1, 0.5.0, 0.5.1"
KNOWN_VERSION_OPERATOR = (
    "gpu-operator: v25.3.0, v25.3.1, v25.3.2, v25.3.3, v25.3.4, v25.10.0, v25.10.1, v26.3.0, v26.3.1, "
    "v26.3.2, v26.3.3, v26.7.0, v26.7.2"
)
RANGES = ("0.5", "latest", ">=0.4.0 <1")
"""chart-pin-version checks these."""

REQUIRE_KNOWN_VERSION = (
    passes(
        (chart_known_version(NVIDIA, version="0.5.0"),),
        breaking(
            "c",
            ("version",),
            "99.1.0",
            unheard(
                chart_known_version(NVIDIA),
                "version is '99.1.0', which is not in the catalogue",
                GPU,
                "0.5.1",
            ),
            unknown="version",
        ),
        *(breaking("c", ("version",), value) for value in RANGES),
        breaking("c", ("version",), REMOVED),
    ),
    passes(
        (chart_known_version("nvidia/gpu-operator", version="26.7.0"),),
        breaking(
            "c",
            ("version",),
            "v1.11.0",
            unheard(
                chart_known_version(""),
                "version is 'v1.11.0', which is not in the catalogue",
                KNOWN_VERSION_OPERATOR,
                "v25.3.0",
            ),
        ),
    ),
    passes(
        (chart_known_version(f"{NVIDIA}:0.4.1"),),
        breaking(
            "c",
            ("chart",),
            f"{NVIDIA}:0.9.9",
            unheard(
                chart_known_version(""),
                f"chart is '{NVIDIA}:0.9.9', which is not in the catalogue",
                GPU,
                "0.5.1",
            ),
            unknown="chart",
        ),
        breaking(
            "c",
            ("chart",),
            f"{NVIDIA}@sha256:{'0' * 64}",
            unheard(chart_known_version(""), "version is absent", GPU, "0.5.1"),
        ),
        breaking(
            "c",
            ("chart",),
            "./charts/dra-driver-nvidia-gpu",
            unheard(chart_known_version(""), "version is absent", GPU, "0.5.1"),
        ),
    ),
    passes((chart_known_version("grafana", version="1.2.3"),)),
)

CASES = {
    "chart-avoid-removed-apis": AVOID_REMOVED_APIS,
    "chart-forbid-gate-conflicts": FORBID_GATE_CONFLICTS,
    "chart-forbid-unknown-values": FORBID_UNKNOWN_VALUES,
    "chart-pin-version": PIN_VERSION,
    "chart-require-known-version": REQUIRE_KNOWN_VERSION,
}
