"""Programs of the rules on pods and what they request."""

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, UNKNOWN, Break, Declared, RuleCase, said
from tests.policies.rules._building import breaking, passes

FIXED_NODE_ALLOWED = "no nodeName on pods with claims"
FIX = "choose the node by nodeSelector: {kubernetes.io/hostname: …}, which the scheduler honours"
CLAIM = {"name": "gpu", "resourceClaimTemplateName": "one"}


def spec(**more: object) -> dict[str, Any]:
    return {"containers": [{"name": "c"}], "resourceClaims": [CLAIM], **more}


FIXED_NODE_POD = Declared(type="kubernetes:core/v1:Pod", name="pod", properties={"spec": spec()})
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
    return passes(
        (declared,),
        breaking(
            declared.name,
            path,
            "node-1",
            said(declared, f"{dotted} is 'node-1'", FIXED_NODE_ALLOWED, FIX),
            unknown=dotted,
        ),
    )


FORBID_FIXED_NODE = (
    case(FIXED_NODE_POD, "spec"),
    case(JOB, "spec", "template", "spec"),
    case(CRON, "spec", "jobTemplate", "spec", "template", "spec"),
    passes((WITHOUT,)),
)


RELEASE = "kubernetes:helm.sh/v3:Release"
LEGACY_GPU_LIMITS_ALLOWED = "a limit that a DeviceClass maps, from Kubernetes 1.36"
GPU = "nvidia.com/gpu"
LIMITS = ("spec", "containers", 0, "resources", "limits")
LEGACY_GPU_LIMITS_PLACE = "spec.containers[0].resources.limits"


def driver(version: str, **values: Any) -> Declared:
    chart = {"chart": "nvidia-dra-driver-gpu", "version": version, "values": values}
    return Declared(type=RELEASE, name="driver", properties=chart)


def pod(**limits: str) -> Declared:
    containers = [{"name": "c", "resources": {"limits": {"cpu": "1", **limits}}}]
    return Declared(
        type="kubernetes:core/v1:Pod", name="pod", properties={"spec": {"containers": containers}}
    )


def cluster(minor: str) -> Declared:
    return Declared(type="dra-fleet:clouds:ExistingCluster", name="lab", properties={"kubernetes": minor})


OLD = driver("25.8.1")
NEW = driver("25.12.0")
PLAIN = pod()
ASKING = pod(**{GPU: "1"})
OPERATOR = Declared(type=RELEASE, name="operator", properties={"chart": "gpu-operator"})
PLUGIN = Declared(
    type="kubernetes:apps/v1:DaemonSet",
    name="plugin",
    properties={
        "spec": {
            "template": {"spec": {"containers": [{"image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"}]}}
        }
    },
)
LEGACY_POOL = Declared(
    type="gcp:container/nodePool:NodePool",
    name="legacy",
    properties={"nodeConfig": {"machineType": "g2-standard-4", "labels": {}}},
)
DRA_POOL = Declared(
    type="gcp:container/nodePool:NodePool",
    name="dra",
    properties={
        "nodeConfig": {
            "machineType": "g2-standard-4",
            "labels": {"gke-no-default-nvidia-gpu-device-plugin": "true"},
        }
    },
)
CLASS = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClass",
    name="any",
    properties={"spec": {"extendedResourceName": GPU}},
)


def unanswered(name: str) -> str:
    return said(
        PLAIN,
        f"{LEGACY_GPU_LIMITS_PLACE}.{name} is asked for, and no DeviceClass answers it",
        LEGACY_GPU_LIMITS_ALLOWED,
        f"use a claim, or set extendedResourceName: {name} on a DeviceClass",
    )


def asked(name: str) -> Break:
    return breaking("pod", LIMITS, {name: "1"}, unanswered(name), unknown=LEGACY_GPU_LIMITS_PLACE)


def off(class_name: str) -> str:
    return said(
        ASKING,
        f"{LEGACY_GPU_LIMITS_PLACE}.{GPU} is asked for; class {class_name} maps it, but Kubernetes 1.35 has "
        "DRAExtendedResource off",
        LEGACY_GPU_LIMITS_ALLOWED,
        "use a claim, or run Kubernetes 1.36 or newer",
    )


UNSAID = said(
    ASKING,
    f"{LEGACY_GPU_LIMITS_PLACE}.{GPU} is asked for, and the program does not say whether its Kubernetes has "
    "DRAExtendedResource on",
    LEGACY_GPU_LIMITS_ALLOWED,
    "set kubernetes of pod-forbid-legacy-gpu-limits to the cluster's minor, or use a claim",
)

FORBID_LEGACY_GPU_LIMITS = (
    passes(
        (cluster("1.36"), OLD, PLAIN),
        *tuple(map(asked, (GPU, "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"))),
    ),
    passes(
        (cluster("1.36"), NEW, ASKING),
        breaking("lab", ("kubernetes",), "1.35", off("gpu.nvidia.com")),
        breaking("lab", ("kubernetes",), REMOVED, UNSAID),
    ),
    passes(
        (cluster("1.36"), OLD, CLASS, ASKING),
        breaking("lab", ("kubernetes",), "1.35", off("any")),
        breaking("any", ("spec", "extendedResourceName"), "example.com/gpu", unanswered(GPU)),
    ),
    passes((NEW, ASKING), settings={"kubernetes": "1.36"}),
    passes(
        (cluster("1.36"), OLD, OPERATOR, ASKING),
        breaking("operator", ("values",), {"devicePlugin": {"enabled": False}}, unanswered(GPU)),
    ),
    passes(
        (OLD, PLUGIN, ASKING),
        breaking(
            "plugin",
            ("spec", "template", "spec", "containers", 0, "image"),
            "example.com/other",
            unanswered(GPU),
        ),
    ),
    passes(
        (OLD, LEGACY_POOL, DRA_POOL, ASKING),
        breaking(
            "legacy",
            ("nodeConfig", "labels", "gke-no-default-nvidia-gpu-device-plugin"),
            "true",
            unanswered(GPU),
        ),
    ),
    passes(
        (driver("25.8.1", resources={"gpus": {"enabled": False}}), ASKING),
        breaking("driver", ("values", "resources", "gpus", "enabled"), True, unanswered(GPU)),
    ),
)


USED_CLAIMS_POD = Declared(
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
USED_CLAIMS_PLACE = "spec.template.spec"


def unused(number: int, name: str) -> str:
    return said(
        USED_CLAIMS_POD,
        f"{USED_CLAIMS_PLACE}.resourceClaims[{number}] is the claim '{name}', which no container uses",
        "claims that a container names in resources.claims",
        f"add {{name: {name}}} to resources.claims of a container, or remove the claim",
    )


REQUIRE_USED_CLAIMS = (
    passes(
        (USED_CLAIMS_POD,),
        breaking(
            "serve",
            (*SPEC, "containers", 0, "resources", "claims"),
            [],
            unused(0, "gpu"),
            unknown=f"{USED_CLAIMS_PLACE}.containers[0].resources.claims",
        ),
        breaking(
            "serve",
            (*SPEC, "initContainers", 0, "resources", "claims", 0, "name"),
            "gpu",
            unused(1, "nic"),
            unknown=f"{USED_CLAIMS_PLACE}.initContainers[0].resources.claims[0].name",
        ),
        breaking(
            "serve",
            (*SPEC, "initContainers"),
            REMOVED,
            unused(1, "nic"),
            unknown=f"{USED_CLAIMS_PLACE}.initContainers",
        ),
        breaking(
            "serve",
            (*SPEC, "resourceClaims", 0, "name"),
            "other",
            unused(0, "other"),
            unknown=f"{USED_CLAIMS_PLACE}.resourceClaims[0].name",
        ),
    ),
)

CASES = {
    "pod-forbid-fixed-node": FORBID_FIXED_NODE,
    "pod-forbid-legacy-gpu-limits": FORBID_LEGACY_GPU_LIMITS,
    "pod-require-used-claims": REQUIRE_USED_CLAIMS,
}
