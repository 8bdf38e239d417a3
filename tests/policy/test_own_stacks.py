import copy
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from dra_fleet.clouds.gke import NO_PLUGIN
from dra_fleet.policy import pack
from dra_fleet.policy.rule import Rule
from dra_fleet.policy.rule_cases import put
from dra_fleet.testing import Recorder
from tests.policy.every_rule import check_all
from tests.policy.own_stacks import PROJECT, STACKS, declared

pytestmark = pytest.mark.slow

DEV = STACKS[0]
BOTH = PROJECT / "tests" / "data" / "stacks" / "advertisers.yaml"
MANAGED = PROJECT / "tests" / "data" / "stacks" / "managed-aks.yaml"
DRIVER: Final = "kubernetes:helm.sh/v3:Release"
CLASS: Final = "kubernetes:resource.k8s.io/v1:DeviceClass"
JOB: Final = "kubernetes:batch/v1:Job"
AKS: Final = "azure-native:containerservice:ManagedCluster"
AKS_POOL: Final = "azure-native:containerservice:AgentPool"
EKS_POOL: Final = "aws:eks/nodeGroup:NodeGroup"
ACK: Final = "alicloud:cs/managedKubernetes:ManagedKubernetes"
ACK_POOL: Final = "alicloud:cs/nodePool:NodePool"
GKE_POOL: Final = "gcp:container/nodePool:NodePool"
GATES: Final = ("values", "featureGates")
ROOT: Final = ("values", "nvidiaDriverRoot")
TOLERATIONS: Final = ("values", "kubeletPlugin", "tolerations")
EXPRESSION: Final = ("spec", "selectors", 0, "cel", "expression")
POD: Final = ("spec", "template", "spec")
CLOUD_CLUSTERS: Final = (AKS, ACK, "gcp:container/cluster:Cluster", "aws:eks/cluster:Cluster")
MANDATORY = [rule for rule in pack.RULES if rule.level("standard") in ("mandatory", "remediate")]


def rule_named(name: str) -> Rule:
    return next(rule for rule in pack.RULES if rule.name == name)


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
@pytest.mark.parametrize("stack", [*STACKS, BOTH, MANAGED], ids=lambda stack: stack.stem)
def test_our_own_stacks_pass_the_pack(stack: Path, preview: bool, recorder: Recorder) -> None:
    resources = declared(recorder, stack, preview=preview)
    violations = check_all(MANDATORY, resources, {rule.name: rule.settings({}) for rule in MANDATORY})
    assert [found.message for found in violations if not found.unjudged] == []


def test_a_preview_of_our_own_stack_has_unknown_values(recorder: Recorder) -> None:
    resources = declared(recorder, DEV, preview=True)
    providers = [found for found in resources if found.type == "pulumi:providers:kubernetes"]
    assert any(found.properties.get("kubeconfig").unknown for found in providers)


def test_our_own_stack_as_production_passes_the_preset_production(recorder: Recorder) -> None:
    resources = declared(recorder, DEV, preview=True, production=True)
    rules = [rule for rule in pack.RULES if rule.level("production") in ("mandatory", "remediate")]
    settings = {rule.name: rule.settings({}) for rule in rules}
    settings["cluster-limit-end-of-life"] = rule_named("cluster-limit-end-of-life").settings(
        {"today": "2026-11-21"}
    )
    output = check_all(rules, resources, settings)
    assert [found.message for found in output if not found.unjudged] == []


def test_our_own_stack_as_development_protects_no_cluster(recorder: Recorder) -> None:
    resources = declared(recorder, DEV, preview=True)
    rule = rule_named("cluster-require-protection")
    output = check_all([rule], resources, {rule.name: rule.settings({})})
    assert len(output) == len([found for found in resources if found.type in CLOUD_CLUSTERS])
    assert output


BREAKS: tuple[tuple[str, str, str, tuple[str | int, ...], object], ...] = (
    ("chart-forbid-gate-conflicts", DRIVER, "lab-dra-driver-nvidia-gpu", (*GATES, "DeviceMetadata"), True),
    ("chart-forbid-unknown-values", DRIVER, "lab-dra-driver-nvidia-gpu", ("values", "nvidiaDriveRoot"), "/"),
    ("chart-pin-version", DRIVER, "render-dra-driver-nvidia-gpu", ("version",), ">=0.5.0"),
    ("class-forbid-chart-names", CLASS, "lab-at-least-20g", ("metadata", "name"), "gpu.nvidia.com"),
    ("cluster-require-minimum-kubernetes", AKS, "studio", ("kubernetesVersion",), "1.33"),
    ("driver-match-root", DRIVER, "studio-dra-driver-nvidia-gpu", ROOT, "/run/nvidia/driver"),
    ("driver-match-root", DRIVER, "render-dra-driver-nvidia-gpu", ROOT, "/"),
    ("driver-require-owner", DRIVER, "studio-gpu-operator", ("values", "driver", "enabled"), True),
    ("driver-require-owner", AKS_POOL, "studio-third", ("gpuProfile", "driver"), "None"),
    ("driver-tolerate-pool-taints", AKS_POOL, "studio-third", ("nodeTaints",), ["a=b:NoSchedule"]),
    ("driver-tolerate-pool-taints", DRIVER, "render-dra-driver-nvidia-gpu", TOLERATIONS, []),
    ("node-limit-advertisers", DRIVER, "studio-gpu-operator", ("values", "devicePlugin", "enabled"), True),
    ("cluster-require-minimum-kubernetes", ACK, "asia", ("version",), "1.33.3-aliyun.1"),
    ("pool-limit-scale-from-zero", ACK_POOL, "asia-a10", ("scalingConfig", "minSize"), 0),
    ("driver-match-root", DRIVER, "train-dra-driver-nvidia-gpu", ROOT, "/run/nvidia/driver"),
    ("pool-limit-scale-from-zero", EKS_POOL, "train-h100", ("scalingConfig", "minSize"), 0),
    ("pod-require-used-claims", JOB, "lab-train", (*POD, "containers", 0, "resources", "claims"), []),
    ("pool-limit-scale-from-zero", AKS_POOL, "studio-third", ("minCount",), 0),
    ("pool-require-dra-labels", GKE_POOL, "render-l4", ("nodeConfig", "labels", NO_PLUGIN), "false"),
    ("selector-require-valid-cel", CLASS, "lab-at-least-20g", EXPRESSION, "device.drivr"),
)
"""A rule, the type and name of a resource of the dev stack, a property of it, and a value that is wrong."""


@pytest.mark.parametrize("broken_by", BREAKS, ids=lambda broken: f"{broken[0]}-{broken[2]}")
def test_a_rule_reaches_our_own_resources(
    broken_by: tuple[str, str, str, tuple[str | int, ...], object], recorder: Recorder
) -> None:
    rule, token, name, path, value = broken_by
    resources = declared(recorder, DEV, preview=False)
    broken = next(found for found in resources if (found.type, found.name) == (token, name))
    properties = copy.deepcopy(dict(broken.read()))
    put(properties, path, value)
    changed = [
        replace(found, read=lambda: properties, unknowns={}) if found is broken else found
        for found in resources
    ]
    checked = rule_named(rule)
    output = check_all([checked], changed, {rule: checked.settings({})})
    assert [found.message for found in output if found.rule is checked]
    assert not any("unknown at preview" in found.message for found in output)


def test_a_date_far_away_ends_the_support_of_all_our_clusters(recorder: Recorder) -> None:
    resources = declared(recorder, DEV, preview=False)
    rule = rule_named("cluster-limit-end-of-life")
    settings = {rule.name: rule.settings({"today": "2099-01-01"})}
    output = check_all([rule], resources, settings)
    clusters = {found.name for found in resources if found.type.startswith("dra-fleet:clouds:")}
    assert {found.urn.rpartition("::")[2] for found in output} >= clusters
