"""Programs of the rules on MIG partitions and shared devices."""

from typing import Any

from dra_fleet.drivers.nvidia.facts import MIG_CONFIG as LABEL
from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, said
from tests.policies.rules._building import breaking, passes

MIG_CAPABLE_GPU_ALLOWED = "partitions of GPUs that have MIG"


def aks(machine: str, **more: Any) -> Declared:
    return Declared(
        type="azure-native:containerservice:AgentPool", name="p", properties={"vmSize": machine, **more}
    )


def gke(accelerator: str, size: str) -> Declared:
    accelerators = [{"type": accelerator, "gpuPartitionSize": size}]
    return Declared(
        type="gcp:container/nodePool:NodePool",
        name="p",
        properties={"nodeConfig": {"machineType": "n1-standard-8", "guestAccelerators": accelerators}},
    )


TEMPLATE = Declared(
    type="aws:ec2/launchTemplate:LaunchTemplate", name="t", properties={"instanceType": "p5.48xlarge"}
)
EKS = Declared(
    type="aws:eks/nodeGroup:NodeGroup",
    name="p",
    properties={"amiType": "AL2023_x86_64_NVIDIA", "labels": {LABEL: "all-1g.10gb"}},
    dependencies=(TEMPLATE.urn,),
)
A100 = aks("Standard_NC24ads_A100_v4", gpuInstanceProfile="MIG1g")
LABELLED = aks("Standard_NC24ads_A100_v4", nodeLabels={LABEL: "all-1g.10gb.me"})
SWITCHED_OFF = aks("Standard_NV36ads_A10_v5", nodeLabels={LABEL: "all-disabled"})
HEARD_OF_NONE = aks("Standard_NC1_B999_v9", gpuInstanceProfile="MIG1g")
GKE = gke("nvidia-tesla-a100", "1g.5gb")
SIZE = ("nodeConfig", "guestAccelerators", 0, "gpuPartitionSize")
SIZE_PLACE = "nodeConfig.guestAccelerators[0].gpuPartitionSize"
A100_40 = "1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"
A100_80 = "1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb"


def incapable(declared: Declared, place: str, shown: str, gpu: str, machine: str) -> str:
    key = LABEL if LABEL in place else place.rpartition(".")[2]
    return said(
        declared,
        f"{place} is {shown!r}, and the {gpu} of {machine} cannot be divided there",
        MIG_CAPABLE_GPU_ALLOWED,
        f"remove {key}, or choose a machine whose GPU has MIG",
    )


def no_profile(declared: Declared, place: str, shown: str, gpu: tuple[str, str, str]) -> str:
    model, machine, known = gpu
    problem = f"{place} is {shown!r}, no profile of the {model} of {machine}"
    return said(declared, problem, known, "choose one of its profiles, or another machine")


MIG_REQUIRE_CAPABLE_GPU = (
    passes(
        (A100,),
        breaking(
            "p",
            ("vmSize",),
            "Standard_NV36ads_A10_v5",
            incapable(A100, "gpuInstanceProfile", "MIG1g", "A10", "Standard_NV36ads_A10_v5"),
            unknown="vmSize",
        ),
    ),
    passes(
        (SWITCHED_OFF,),
        breaking(
            "p",
            ("gpuInstanceProfile",),
            "MIG2g",
            incapable(SWITCHED_OFF, "gpuInstanceProfile", "MIG2g", "A10", "Standard_NV36ads_A10_v5"),
            unknown="gpuInstanceProfile",
        ),
        breaking(
            "p",
            ("nodeLabels", LABEL),
            "all-balanced",
            incapable(SWITCHED_OFF, f"nodeLabels.{LABEL}", "all-balanced", "A10", "Standard_NV36ads_A10_v5"),
            unknown=f"nodeLabels.{LABEL}",
        ),
    ),
    passes(
        (LABELLED,),
        breaking(
            "p",
            ("nodeLabels", LABEL),
            "all-1g.5gb",
            no_profile(
                LABELLED,
                f"nodeLabels.{LABEL}",
                "all-1g.5gb",
                ("A100-PCIE-80GB", "Standard_NC24ads_A100_v4", A100_80),
            ),
        ),
    ),
    passes(
        (GKE,),
        breaking(
            "p",
            SIZE,
            "1g.20gb",
            no_profile(GKE, SIZE_PLACE, "1g.20gb", ("A100-SXM4-40GB", "a2-highgpu-1g", A100_40)),
            unknown=SIZE_PLACE,
        ),
        breaking(
            "p",
            (*SIZE[:-1], "type"),
            "nvidia-l4",
            incapable(GKE, SIZE_PLACE, "1g.5gb", "L4", "g2-standard-4"),
            unknown="nodeConfig.guestAccelerators[0].type",
        ),
    ),
    passes(
        (TEMPLATE, EKS),
        breaking(
            "t",
            ("instanceType",),
            "p6e-gb200.36xlarge",
            incapable(EKS, f"labels.{LABEL}", "all-1g.10gb", "GB200-186GB", "p6e-gb200.36xlarge"),
            unknown="instanceType",
        ),
    ),
    passes((HEARD_OF_NONE,)),
)


def operator(**values: Any) -> Declared:
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name="operator",
        properties={"chart": "gpu-operator", "version": "v25.10.0", "values": values},
    )


def pool(**labels: str) -> Declared:
    return Declared(
        type="azure-native:containerservice:AgentPool",
        name="pool",
        properties={"vmSize": "Standard_ND96amsr_A100_v4", "nodeLabels": labels},
    )


CLASS = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClass",
    name="class",
    properties={"metadata": {"name": "nvidia-mig"}, "spec": {"selectors": []}},
)
SINGLE = operator(mig={"strategy": "single"})
HOLLOW = said(
    SINGLE,
    "values.mig.strategy is 'single', which makes no partitions, and nothing else of the program does",
    "mig.strategy with partitions, or without mig.strategy",
    f"label the pool's nodes {LABEL}=<layout>, or remove mig.strategy",
)

MIG_REQUIRE_LAYOUT = (
    passes(
        (operator(mig={"strategy": "none"}), pool(), CLASS),
        breaking("operator", ("values", "mig", "strategy"), "single", HOLLOW, unknown="values.mig.strategy"),
    ),
    passes(
        (SINGLE, pool(**{LABEL: "all-1g.10gb"}), CLASS),
        Break(
            resource="pool",
            path=("nodeLabels", LABEL),
            value="all-disabled",
            messages=(HOLLOW,),
            # An unknown label can ask for partitions.
            unknown=None,
        ),
    ),
    # The operator that dra-fleet installs for pools without a layout.
    passes((operator(mig={"strategy": "single"}, migManager={"enabled": False}), CLASS)),
    # Whole GPUs, with the operator's default.
    passes((SINGLE, pool())),
)


GATE = ("values", "featureGates", "TimeSlicingSettings")
DRIVER_GATES_PLACE = "values.featureGates.TimeSlicingSettings"
DRIVER_GATES_ALLOWED = "TimeSlicingSettings: true where a class or claim chooses the strategy"
FIX = "set featureGates.TimeSlicingSettings: true in the chart's values, or take the strategy out of shared"
STRATEGY = "spec.config[0].opaque.parameters.sharing.strategy"


def driver(version: str, **gates: bool) -> Declared:
    properties = {
        "chart": "nvidia-dra-driver-gpu",
        "version": version,
        "values": {"featureGates": gates} if gates else {},
    }
    return Declared(type="kubernetes:helm.sh/v3:Release", name="driver", properties=properties)


def device_class(strategy: str) -> Declared:
    opaque: dict[str, Any] = {
        "driver": "gpu.nvidia.com",
        "parameters": {"kind": "GpuConfig", "sharing": {"strategy": strategy}},
    }
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name="shared",
        properties={"spec": {"config": [{"opaque": opaque}]}},
    )


ON = driver("25.12.0", TimeSlicingSettings=True)
OLD = driver("25.3.2")
DRIVER_GATES_SHARED = device_class("TimeSlicing")


def off(shown: str, place: str = DRIVER_GATES_PLACE) -> str:
    return said(ON, f"{place} is {shown}, and shared needs it at {STRATEGY}", DRIVER_GATES_ALLOWED, FIX)


REQUIRE_DRIVER_GATES = (
    passes(
        (ON, DRIVER_GATES_SHARED),
        breaking("driver", GATE, False, off("False"), unknown=DRIVER_GATES_PLACE),
        breaking("driver", GATE, REMOVED, off("absent")),
        breaking(
            "shared",
            ("spec", "config", 0, "opaque", "parameters", "sharing", "strategy"),
            "MPS",
            said(
                ON,
                f"values.featureGates.MPSSupport is absent, and shared needs it at {STRATEGY}",
                "MPSSupport: true where a class or claim chooses the strategy",
                "set featureGates.MPSSupport: true in the chart's values, or take the strategy out of shared",
            ),
            unknown=STRATEGY,
        ),
    ),
    passes((OLD, DRIVER_GATES_SHARED), breaking("driver", ("version",), "99.0.0", off("absent"))),
)


ISOLATION_ALLOWED = "whole devices, or MIG partitions"


def claim(parameters: dict[str, Any]) -> Declared:
    opaque = {"driver": "gpu.nvidia.com", "parameters": {"kind": "GpuConfig", **parameters}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaim",
        name="lab",
        properties={"spec": {"devices": {"config": [{"opaque": opaque}]}}},
    )


WHOLE = claim({})
ISOLATION_SHARED = claim({"sharing": {"strategy": "MPS"}})
OPAQUE = ("spec", "devices", "config", 0, "opaque")
ISOLATION_PLACE = "spec.devices.config[0].opaque.parameters.sharing.strategy"


def strategy(name: str) -> Break:
    return breaking(
        "lab",
        (*OPAQUE, "parameters", "sharing", "strategy"),
        name,
        said(
            WHOLE,
            f"{ISOLATION_PLACE} is {name!r}, which isolates neither memory nor faults",
            ISOLATION_ALLOWED,
            "select a MIG device, or list lab in accepted of sharing-require-isolation",
        ),
        unknown=ISOLATION_PLACE,
    )


REQUIRE_ISOLATION = (
    passes((WHOLE,), strategy("TimeSlicing"), strategy("MPS")),
    passes((ISOLATION_SHARED,), settings={"accepted": ["lab"]}),
)

CASES = {
    "mig-require-capable-gpu": MIG_REQUIRE_CAPABLE_GPU,
    "mig-require-layout": MIG_REQUIRE_LAYOUT,
    "sharing-require-driver-gates": REQUIRE_DRIVER_GATES,
    "sharing-require-isolation": REQUIRE_ISOLATION,
}
