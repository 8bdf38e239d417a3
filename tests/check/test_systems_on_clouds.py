# ruff: noqa: E501 - messages and YAML are written as they are reported

from pathlib import Path
from typing import Any

import pytest

from dra_fleet.check import ManifestFile, ValuesFile
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from tests.check.check_helpers import RECIPES, ROOT, check, cluster, nvidia, on, plan_of, plan_on
from tests.check.test_published_systems import exactly, pod, template

EXAMPLES = ROOT / "examples"
GPUS = "resources: {gpus: {enabled: true}, computeDomains: {enabled: false}}\ngpuResourcesEnabledOverride: true\n"
GKE_ROOT = "nvidiaDriverRoot: /home/kubernetes/bin/nvidia\n"
COMPUTE_CLASS = "{key: cloud.google.com/compute-class, operator: Equal, value: any-gpu, effect: NoSchedule}"
TOLERATIONS = f"tolerations: [{{key: nvidia.com/gpu, operator: Exists}}, {COMPUTE_CLASS}]"
GKE_PLUGIN = f'kubeletPlugin: {{priorityClassName: "", {TOLERATIONS}}}\n'


def values(example: str, text: str, chart: str = "dra-driver-nvidia-gpu@0.5.0") -> list[str]:
    """Return the findings in a values file for an example's stack."""
    name, version = chart.split("@")
    file = ValuesFile(chart=name, version=version, name="v", data=text.encode())
    return [str(item) for item in check(plan_of(EXAMPLES / f"{example}.yaml"), [], [file])]


def manifest(example: str, text: str) -> list[str]:
    """Return the findings in a file of objects for an example's stack."""
    file = ManifestFile(name="m", data=text.encode())
    return [str(item) for item in check(plan_of(EXAMPLES / f"{example}.yaml"), [file])]


def limited(name: str, count: int) -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        f"spec: {{containers: [{{name: c, image: i, resources: {{limits: {{{name}: {count}}}}}}}]}}\n"
    )


def test_s3_s_managed_gpus_include_the_device_plugin_and_are_rejected_with_dra() -> None:
    settings: dict[str, Any] = dict(read_fleet(EXAMPLES / "aks-mig.yaml"))
    (name,) = settings["clusters"]
    settings["clusters"][name]["pools"]["mig"]["gpuManagement"] = "Managed"
    with pytest.raises(SettingsInvalid) as output:
        make_plan(parse(settings))
    assert "pools.mig.gpuManagement: installs a device plugin of AKS, which advertises the GPUs" in str(
        output.value
    )


SHARED = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: shared}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
      config:
        - opaque:
            driver: gpu.nvidia.com
            parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}
"""


@pytest.mark.parametrize("environment", ["production", "development"])
def test_s3_s_strategies_without_isolation_are_not_chosen_silently_in_production(environment: str) -> None:
    drivers = nvidia(featureGates={"MPSSupport": True})
    settings = {
        "owner": "o",
        "environment": environment,
        "kubernetes": "1.36",
        "clusters": {"lab": cluster("hgx-h100-8", drivers=drivers)},
    }
    found = check(make_plan(parse(settings)), [ManifestFile(name="m", data=SHARED.encode())])
    if environment == "development":
        assert found == []
        return
    [output] = found
    assert (output.severity, output.line) == ("warning", 11)
    assert output.what == "MPS isolates neither memory nor faults, and this is a production stack"


def test_s4_s_driver_root_is_that_of_gke() -> None:
    output = values("gke-fallback", GPUS + GKE_PLUGIN)
    assert len(output) == 4
    assert all(
        "nvidiaDriverRoot: is not where pool" in line and "allowed: /home/kubernetes/bin/nvidia" in line
        for line in output
    )


def test_s4_corrected_passes_on_gke() -> None:
    assert values("gke-fallback", GPUS + GKE_ROOT + GKE_PLUGIN) == []


def test_s4_s_plugin_must_bear_the_taint_of_a_compute_class() -> None:
    output = values("gke-fallback", GPUS + GKE_ROOT + 'kubeletPlugin: {priorityClassName: ""}\n')
    assert {line.split(" of pool ")[1].split(",")[0] for line in output} == {"a100", "flex", "l4"}
    assert all(
        "does not tolerate cloud.google.com/compute-class=any-gpu:NoSchedule" in line for line in output
    )


QUOTA = "GKE admits critical pods outside of kube-system only where a ResourceQuota"


def test_s4_s_plugin_is_critical_by_default_which_gke_admits_by_quota_only() -> None:
    [output] = values("gke-fallback", f"{GPUS}{GKE_ROOT}kubeletPlugin: {{{TOLERATIONS}}}\n")
    assert (
        f" warning: values of dra-driver-nvidia-gpu 0.5.0 kubeletPlugin.priorityClassName: {QUOTA}" in output
    )
    assert "got: the chart's default, which is critical" in output
    assert 'fix: kubeletPlugin: {priorityClassName: ""}, or such a quota in the namespace' in output


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (
            "resources: {computeDomains: {enabled: true}}\nwebhook: {enabled: true}\n",
            ["controller", "webhook"],
        ),
        ("resources: {computeDomains: {enabled: false}}\n", []),
        (
            "resources: {computeDomains: {enabled: true}}\ncontroller: {priorityClassName: system-node-critical}",
            ["controller"],
        ),
    ],
)
def test_every_part_that_runs_is_looked_at(given: str, parts: list[str]) -> None:
    output = [line for line in values("gke-fallback", GKE_PLUGIN + given) if QUOTA in line]
    assert [line.split(".priorityClassName")[0].rsplit(" ", 1)[1] for line in output] == parts


def test_other_clouds_admit_critical_pods_everywhere() -> None:
    assert not any(QUOTA in line for line in values("aks-mig", GPUS))


DOMAINS_ALONE = {"resources": {"computeDomains": {"enabled": True}, "gpus": {"enabled": False}}}
GB200: dict[str, Any] = {
    "machine": "a4x-highgpu-4g",
    "nodes": {"min": 2, "max": 16},
    "zones": ["europe-west4-b"],
    "reservation": {"consume": "SPECIFIC_RESERVATION", "names": ["gb200"]},
}


def gb200(drivers: dict[str, Any], **pool: str) -> dict[str, Any]:
    """A cluster of GKE whose nodes have Arm CPUs and GB200 GPUs."""
    return {
        "cloud": "gke",
        "project": "ml-train",
        "location": "europe-west4",
        "create": {"network": "default"},
        "access": {"external": True},
        "drivers": drivers,
        "pools": {"gb200": {**GB200, **pool}},
    }


def on_gb200(spec: str) -> list[str]:
    """Return the findings in a pod that tolerates the taint of GPUs, with further fields."""
    gpu = pod("one") + f"  tolerations: [{{key: nvidia.com/gpu, operator: Exists}}]\n  {spec}\n"
    return on(template("one", exactly("gpu", "gpu.nvidia.com")) + gpu, train=gb200(nvidia()))


ARCH = "{key: kubernetes.io/arch, operator: %s, values: [%s]}"
AFFINITY = (
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    f"{{nodeSelectorTerms: [{{matchExpressions: [{ARCH}]}}]}}}}}}"
)


def test_gke_tolerates_the_taint_of_arm_for_pods_that_require_such_nodes() -> None:
    assert on_gb200("nodeSelector: {kubernetes.io/arch: arm64}") == []
    assert on_gb200(AFFINITY % ("In", "arm64")) == []
    for other in (AFFINITY % ("NotIn", "amd64"), "nodeSelector: {}"):
        [output] = on_gb200(other)
        assert "gb200 has kubernetes.io/arch=arm64:NoSchedule" in output
        assert output.endswith("[taints-not-tolerated]")


def test_gke_sets_labels_of_its_networks() -> None:
    select = "nodeSelector: {kubernetes.io/arch: arm64, %s: auto}"
    assert on_gb200(select % "gke.networks.io/accelerator-network-profile") == []
    [output] = on_gb200(select % "networks.io/profile")
    assert output.endswith("[label-unknown]")


def test_a_label_that_the_cloud_sets_is_not_asked_of_a_pool() -> None:
    plan = plan_on(train=gb200(nvidia(**DOMAINS_ALONE), advertise="compute-domain-only"))
    for key, rules in (("cloud.google.com/gke-accelerator", []), ("example.com/gpus", ["plugin-placement"])):
        selector = (
            '{affinity: null, priorityClassName: "", '
            f"nodeSelector: {{kubernetes.io/arch: arm64, {key}: nvidia-gb200}}}}"
        )
        text = (
            f'resources: {{gpus: {{enabled: false}}}}\ncontroller: {{priorityClassName: ""}}\n{GKE_ROOT}'
            f"kubeletPlugin: {selector}\n"
        )
        file = ValuesFile(chart="dra-driver-nvidia-gpu", version="0.5.0", name="v", data=text.encode())
        assert [item.rule for item in check(plan, [], [file])] == rules


def test_s5_s_label_turns_the_device_plugin_off() -> None:
    [output] = manifest("gke-tpu", limited("google.com/tpu", 4))
    assert "limits.google.com/tpu: asks a device plugin" in output
    assert "the pod would wait for ever" in output


def test_s9_s_cluster_that_has_slices_gets_no_second_driver() -> None:
    values_with_label = f"{GPUS}kubeletPlugin: {{nodeSelector: {{example.com/pool: l40s}}, affinity: {{}}}}\n"
    [output] = values("existing-cluster", values_with_label)
    assert " warning: " in output
    assert "cluster edge already has DRA drivers (drivers: {})" in output
    assert "fix: install nothing there" in output


def test_s15_s_device_plugin_s_pool_is_never_one_of_dra() -> None:
    operator = "devicePlugin: {enabled: true}\ndriver: {enabled: true}\n"
    output = values("aks-mig", operator, "gpu-operator@v25.10.0")
    assert any("which the DRA driver publishes: each is allocated twice" in line for line in output)


def test_s13_s_gpus_of_one_numa_node_pass_and_an_attribute_that_no_one_publishes_is_reported() -> None:
    pair = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: pair}\nspec:\n"
        "  spec:\n    devices:\n      requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]\n"
        "      constraints: [{matchAttribute: resource.kubernetes.io/%s}]\n"
    )
    assert on(pair % "numaNode", lab=cluster("hgx-h100-8")) == []
    [output] = on(pair % "nvlink", lab=cluster("hgx-h100-8"))
    assert "publishes the attribute resource.kubernetes.io/nvlink of matchAttribute" in output


def test_s14_s_gang_by_kueue_passes() -> None:
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: gang, labels: {kueue.x-k8s.io/queue-name: gpus}}\n"
        "spec:\n  suspend: true\n  parallelism: 2\n  template:\n    spec:\n      restartPolicy: Never\n"
        "      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]\n"
        "      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]\n---\n"
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: one}\n"
        "spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}\n"
    )
    assert on(job, lab=cluster("hgx-h100-8")) == []


@pytest.mark.parametrize("system", ["s1", "s2", "s6", "s8"])
def test_each_recipe_of_files_has_a_published_and_a_corrected_form(system: str) -> None:
    names = {file.name for file in Path(RECIPES / system).iterdir()}
    assert any(name.startswith("published") for name in names)
    assert any(name.startswith(("corrected", "quoted")) for name in names)
