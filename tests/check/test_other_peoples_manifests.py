# ruff: noqa: E501 - messages and YAML are written as they are reported

import pytest

from tests.check.check_helpers import cluster, nvidia, on, value_findings
from tests.check.test_published_systems import DOMAIN, class_, exactly, pod, template

H100 = cluster("hgx-h100-8")
TAINTED = cluster(
    "hgx-h100-8", taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
)


def limits(text: str, requests: str = "", **pod_fields: str) -> str:
    """A pod that asks by extended resources."""
    fields = "".join(f"  {name}: {value}\n" for name, value in pod_fields.items())
    asked = f"limits: {{{text}}}" + (f", requests: {{{requests}}}" if requests else "")
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n{fields}"
        f"  containers: [{{name: c, image: i, resources: {{{asked}}}}}]\n"
    )


@pytest.mark.parametrize(
    "name", ["gaudi.intel.com", "qat.intel.com", "mrdma.google.com", "neuron.aws.com", "dra.memory", "fpga"]
)
def test_a_class_of_a_driver_that_is_unknown_is_doubted(name: str) -> None:
    [output] = on(template("one", exactly("dev", name)) + pod("one"), lab=H100)
    assert (
        f"warning: ResourceClaimTemplate one spec.spec.devices.requests[0].exactly.deviceClassName: cannot be checked: it is not a class of the stack, its drivers or the files; another driver may install it; got: {name}"
        in output
    )


def test_a_class_like_a_known_one_is_doubted_with_the_known_name() -> None:
    [output] = on(template("one", exactly("gpu", "gpu.nvida.com")), lab=H100)
    assert " warning: " in output
    assert "did you mean gpu.nvidia.com?" in output


def test_a_class_of_a_known_driver_that_the_stack_lacks_is_an_error_with_the_driver() -> None:
    [output] = on(
        template("one", exactly("gpu", "gpu.nvidia.com")),
        lab=cluster("cpu-16", drivers={"example": {"version": "0.4.0"}}),
    )
    assert " error: " in output
    assert "fix: add nvidia to the cluster's drivers" in output


def test_an_unknown_class_does_not_end_the_checking_of_the_other_requests() -> None:
    output = on(
        template(
            "two", exactly("nic", "nic.example.org") + ", " + exactly("gpu", "gpu.nvidia.com", ", count: 9")
        ),
        lab=H100,
    )
    assert [line.rpartition("[")[2] for line in output] == ["class-not-judged]", "not-enough-devices]"]


NIC = class_("nic", "device.driver == 'dra.net'")


def test_dranet_is_not_aws_s_alone() -> None:
    text = class_(
        "rdma",
        "device.driver == 'dra.net' && device.attributes['dra.net'].rdma == true && has(device.attributes['gce.dra.net'].block)",
    )
    [output] = on(text + template("nics", exactly("nic", "rdma", ", count: 2")), lab=H100)
    assert (
        "warning: DeviceClass rdma spec.selectors[0].cel.expression: cannot be checked: what driver dra.net publishes cannot be predicted"
        in output
    )


def test_a_network_card_is_the_pod_s_and_no_container_needs_to_name_it() -> None:
    untaken = pod("nic").replace("resources: {claims: [{name: own}]}", "resources: {}")
    assert [
        line
        for line in on(NIC + template("nic", exactly("nic", "nic")) + untaken, lab=H100)
        if "no container" in line
    ] == []
    address = untaken.replace("Name: nic", "Name: floating-ip")
    assert (
        on(
            class_("v", "device.driver == 'dravip'") + template("floating-ip", exactly("a", "v")) + address,
            lab=H100,
        )[1:]
        == []
    )
    [output] = on(template("nic", exactly("gpu", "gpu.nvidia.com")) + untaken, lab=H100)
    assert "no container takes claim own" in output


def test_gpus_by_their_extended_resource_go_with_a_claim_of_network_cards() -> None:
    text = NIC + template("nic", exactly("nic", "nic")) + pod("nic", ", limits: {nvidia.com/gpu: 1}")
    assert [line for line in on(text, lab=H100) if "second claim" in line] == []
    [output] = on(
        template("g", exactly("gpu", "gpu.nvidia.com")) + pod("g", ", limits: {nvidia.com/gpu: 1}"), lab=H100
    )
    assert "makes a second claim, of class gpu.nvidia.com, besides the pod's own" in output


@pytest.mark.parametrize("version", ["0.4.0", "0.4.1", "0.5.0"])
def test_every_gpu_has_a_bus_id_from_0_4_0_on(version: str) -> None:
    text = class_(
        "bus",
        "device.driver == 'gpu.nvidia.com' && device.attributes['resource.kubernetes.io'].pciBusID.startsWith('0000')",
    )
    output = on(text, lab=cluster("hgx-h100-8", drivers={"nvidia": {"version": version}}))
    assert [line for line in output if "has no pciBusID" in line] == []


@pytest.mark.parametrize(
    ("toleration", "output"),
    [
        ("{effect: NoSchedule}", "[0]: is rejected: a toleration without a key must have operator Exists"),
        (
            "{key: nvidia.com/gpu, operator: Exist}",
            "[0].operator: is rejected: it is not an operator; got: Exist",
        ),
        (
            "{key: nvidia.com/gpu, operator: Exists, value: 'true'}",
            "[0].value: is rejected: must be empty with operator Exists; got: true",
        ),
        ("{operator: Exists, effect: NoRun}", "[0].effect: is rejected: it is not an effect; got: NoRun"),
        (
            "{operator: Exists, effect: NoSchedule, tolerationSeconds: 30}",
            "[0].effect: is rejected: must be NoExecute where tolerationSeconds is given; got: NoSchedule",
        ),
    ],
    ids=["no key", "operator", "value", "effect", "seconds"],
)
def test_a_toleration_that_the_server_refuses_is_reported(toleration: str, output: str) -> None:
    found = on(limits("nvidia.com/gpu: 1", tolerations=f"[{toleration}]"), lab=TAINTED)
    assert [line for line in found if f"error: Pod p spec.tolerations{output}" in line] != []


def test_a_toleration_for_some_seconds_is_taken() -> None:
    some = "[{operator: Exists}, {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]"
    assert on(limits("nvidia.com/gpu: 1", tolerations=some), lab=TAINTED) == []


def test_a_manifest_for_one_cluster_of_several_needs_to_run_on_one() -> None:
    both = {"big": cluster("hgx-h100-8"), "small": cluster("pcie-l40s-4")}
    text = template("eight", exactly("gpu", "gpu.nvidia.com", ", count: 8")) + pod("eight")
    assert [line for line in on(text, **both) if " error: " in line] == []
    assert [line for line in on(text, small=both["small"]) if " error: " in line] != []


def test_a_claim_for_one_cluster_and_a_pod_for_the_other_run_nowhere() -> None:
    both = {"a": cluster("hgx-h100-8"), "b": cluster("pcie-l40s-4")}
    both["b"]["pools"]["gpus"]["nodeSelector"] = {"example.com/pool": "other"}
    text = template("eight", exactly("gpu", "gpu.nvidia.com", ", count: 8")) + pod("eight").replace(
        "spec:\n", "spec:\n  nodeSelector: {example.com/pool: other}\n"
    )
    assert [line for line in on(text, **both) if " error: Pod p " in line] != []


def test_a_pod_read_from_a_cluster_has_its_node() -> None:
    text = template("g", exactly("gpu", "gpu.nvidia.com"))
    there = pod("g").replace("spec:\n", "spec:\n  nodeName: gpu-1\n")
    [output] = on(text + there, lab=H100)
    assert "the pod would never start" in output
    assert on(text + there + "status: {phase: Running}\n", lab=H100) == []


def test_templates_of_one_name_in_two_namespaces_are_two() -> None:
    def at(namespace: str, text: str) -> str:
        return text.replace("metadata: {name", f"metadata: {{namespace: {namespace}, name")

    text = at("a", template("t", exactly("gpu", "gpu.nvidia.com"))) + at(
        "b", template("t", exactly("gpus", "gpu.nvidia.com", ", count: 9"))
    )
    output = on(
        text + at("a", pod("t", "").replace("{name: own}]}}", "{name: own, request: gpu}]}}")), lab=H100
    )
    assert [line.split(": ")[1:2] for line in output] == [["error"]]
    assert "requests 9 devices" in output[0]


def test_the_nearest_device_meets_the_most_clauses_of_class_and_request_together() -> None:
    both = cluster("hgx-h100-8")
    both["pools"]["old"] = {
        "machine": "dgx-a100-80-8",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "old"},
    }
    large = class_(
        "large",
        "device.driver == 'gpu.nvidia.com' && device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('79Gi')) >= 0",
    )
    hopper = "selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].architecture == 'Ampere' && device.attributes['gpu.nvidia.com'].productName == 'none'\"}}]"
    [output] = on(large + template("a", exactly("gpu", "large", f", {hopper}")), lab=both)
    assert "is not true on gpu-0 of pool old (productName NVIDIA A100-SXM4-80GB)" in output


def test_a_clause_of_the_class_is_called_the_class_s() -> None:
    old = class_(
        "old",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].architecture == 'Ampere'",
    )
    mixed = cluster("hgx-h100-8")
    mixed["pools"]["old"] = {
        "machine": "dgx-a100-80-8",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "old"},
    }
    only = "selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'\"}}]"
    [output] = on(old + template("a", exactly("gpu", "old", f", {only}")), lab=mixed)
    assert (
        "matches 0 of 16 devices of the fleet's nodes: class old: `device.attributes['gpu.nvidia.com'].architecture == 'Ampere'`"
        in output
    )


JOBS = {
    "kubeflow.org/v2beta1 MPIJob": "mpiReplicaSpecs: {{Worker: {{replicas: 1, template: {template}}}}}",
    "kubeflow.org/v1 PyTorchJob": "pytorchReplicaSpecs: {{Worker: {{replicas: 1, template: {template}}}}}",
    "ray.io/v1 RayCluster": "workerGroupSpecs: [{{groupName: g, replicas: 1, template: {template}}}]",
    "ray.io/v1 RayService": "rayClusterConfig: {{headGroupSpec: {{template: {template}}}}}",
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": "leaderWorkerTemplate: {{size: 2, workerTemplate: {template}}}",
    "jobset.x-k8s.io/v1alpha2 JobSet": "replicatedJobs: [{{name: w, template: {{spec: {{template: {template}}}}}}}]",
    "v1 ReplicationController": "replicas: 1, template: {template}",
}
POD = "{spec: {resourceClaims: [{name: own, resourceClaimTemplateName: missing}], containers: [{name: c, image: i, resources: {claims: [{name: own}]}}]}}"


@pytest.mark.parametrize("kind", JOBS)
def test_pods_are_found_wherever_a_kind_holds_them(kind: str) -> None:
    version, name = kind.split()
    text = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: j}}\nspec: {{{JOBS[kind].format(template=POD)}}}\n"
    [output] = on(text, lab=H100)
    assert f"error: {name} j spec." in output
    assert "is not a ResourceClaimTemplate of the stack or of the files checked; got: missing" in output


def test_a_machine_takes_its_claims_by_its_devices() -> None:
    machine = (
        "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: vm}\nspec:\n"
        "  resourceClaims: [{name: own, resourceClaimTemplateName: g}]\n"
        "  domain: {devices: {gpus: [{name: gpu, claimName: own, requestName: gpus}]}}\n"
    )
    [output] = on(template("g", exactly("gpu", "gpu.nvidia.com")) + machine, lab=H100)
    assert (
        "spec.domain.devices.gpus[0].requestName: is not a request of claim g; got: gpus; allowed: gpu"
        in output
    )


@pytest.mark.parametrize(
    ("version", "severity"), [("v1alpha3", "warning"), ("v1beta2", "warning"), ("v1", "error")]
)
def test_device_taint_rules_are_checked_by_what_the_minor_serves(version: str, severity: str) -> None:
    rule = f"apiVersion: resource.k8s.io/{version}\nkind: DeviceTaintRule\nmetadata: {{name: r}}\nspec: {{taint: {{key: a, effect: NoSchedule}}}}\n"
    [output] = on(rule, lab=H100)
    assert f"{severity}: DeviceTaintRule r apiVersion: is " in output


def test_a_name_of_an_extended_resource_belongs_to_one_class() -> None:
    second = class_("mine", "device.driver == 'gpu.nvidia.com'").replace(
        "spec: {", "spec: {extendedResourceName: nvidia.com/gpu, "
    )
    [output] = on(second, lab=H100)
    assert (
        "warning: DeviceClass mine spec.extendedResourceName: is the name of class gpu.nvidia.com too"
        in output
    )


def test_more_gpus_than_a_node_has_are_reported() -> None:
    [output] = on(limits("nvidia.com/gpu: 16"), lab=H100)
    assert "requests 16 devices of class gpu.nvidia.com on one node, where at most 8 match" in output


def test_limits_and_requests_of_an_extended_resource_are_the_same() -> None:
    [output] = on(limits("nvidia.com/gpu: 2", "nvidia.com/gpu: 1"), lab=H100)
    assert "must be the same in limits and requests; got: limits 2, requests 1" in output


def test_an_implicit_class_must_be_there() -> None:
    prefix = "deviceclass.resource.kubernetes.io/"
    assert on(limits(f"{prefix}gpu.nvidia.com: 1"), lab=H100) == []
    [output] = on(limits(f"{prefix}gpus: 1"), lab=H100)
    assert "warning: Pod p spec.containers[0].resources.limits" in output
    assert "is not a class of the stack" in output


def test_a_domain_needs_a_driver_that_serves_domains() -> None:
    [output] = on(DOMAIN % "", lab=cluster("cpu-16", drivers={"example": {"version": "0.4.0"}}))
    assert "has no NVIDIA driver on this cluster, whose controller makes ComputeDomains" in output
    assert on(DOMAIN % "", lab=cluster("hgx-h100-8", drivers={})) == []
    served = nvidia(resources={"computeDomains": {"enabled": True}})
    [output] = on(
        (DOMAIN % "").replace("channel: {", "channel: {allocationMode: Some, "),
        lab=cluster("hgx-h100-8", drivers=served),
    )
    assert "spec.channel.allocationMode: " in output


OWN_CLASS = class_("gpu.example.com", "device.driver=='gpu.example.com'")


def test_a_class_from_an_own_driver_s_manifests_has_the_name_of_its_chart_s_class() -> None:
    own = cluster("cpu-16", drivers={})
    assert on(OWN_CLASS, lab=own) == []
    [installed] = on(OWN_CLASS, lab=cluster("cpu-16", drivers={"example": {"version": "0.4.0"}}))
    other, *_ = on(
        OWN_CLASS.replace(".com'", ".com' && has(device.attributes['gpu.example.com'].model)"), lab=own
    )
    for output in (installed, other):
        assert (
            "error: DeviceClass gpu.example.com metadata.name: is the name of a class that the example driver's chart installs itself"
            in output
        )


def test_a_cluster_with_its_own_drivers_has_the_classes_of_the_drivers_that_files_request() -> None:
    igpu = {"driver": "gpu.intel.com", "name": "igpu", "count": 1, "attributes": {"model": "Iris Xe"}}
    own = cluster({"cpus": 16, "memory": 64}, drivers={}, devices=[igpu])  # type: ignore[arg-type]
    text = template("one", exactly("gpu", "gpu.intel.com")) + pod("one")
    assert on(text, lab=own) == []
    old = (
        text.replace("resource.k8s.io/v1\n", "resource.k8s.io/v1beta1\n")
        .replace("exactly: {", "")
        .replace("}}]", "}]")
    )
    assert [line for line in on(old, lab=own) if "class-unknown" in line] == []
    [output] = on(text, lab=H100)
    assert "got: gpu.intel.com" in output
    assert "fix: add intel to the cluster's drivers" in output


@pytest.mark.parametrize(
    "device",
    [
        "domain: {devices: {gpus: [{name: d, claimName: own, requestName: %s}]}}",
        "domain: {cpu: {cores: 1, dra: {claimName: own, requestName: %s}}}",
        "domain: {}, networks: [{name: n, resourceClaim: {claimName: own, requestName: %s}}]",
    ],
    ids=["gpu", "cpu", "network"],
)
def test_a_machine_takes_a_claim_by_any_field_that_names_it(device: str) -> None:
    claim = template("g", exactly("gpu", "gpu.nvidia.com"))
    machine = "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: vm}\nspec: {resourceClaims: [{name: own, resourceClaimTemplateName: g}], DEVICE}\n"
    assert on(claim + machine.replace("DEVICE", device % "gpu"), lab=H100) == []
    [mistyped] = on(claim + machine.replace("DEVICE", device % "gpus"), lab=H100)
    assert "requestName: is not a request of claim g; got: gpus; allowed: gpu" in mistyped
    [output] = on(claim + machine.replace("DEVICE", "domain: {}"), lab=H100)
    assert (
        "warning: VirtualMachineInstance vm spec.resourceClaims[0]: no device of the machine takes claim own: its devices are allocated and not attached; fix: claimName: own of a device under domain.devices [claim-not-taken]"
        in output
    )


def test_an_object_of_an_unknown_kind_may_create_the_template_of_its_name() -> None:
    maker = "---\napiVersion: llmfit.ai/v1alpha1\nkind: ModelClaim\nmetadata: {name: own-template, namespace: NS}\nspec: {model: m}\n"
    waiting = pod("own-template").replace("{name: p", "{namespace: a, name: p")
    [output] = on(maker.replace("NS", "a") + waiting, lab=H100)
    assert (
        "resourceClaimTemplateName: cannot be checked: ModelClaim own-template of the files may create this ResourceClaimTemplate; got: own-template; fix: check the ResourceClaimTemplate that it creates together with this file [claim-unknown]"
        in output
    )
    assert " warning: " in output
    [elsewhere] = on(maker.replace("NS", "b") + waiting, lab=H100)
    assert " error: " in elsewhere
    assert "is not a ResourceClaimTemplate of the stack or of the files checked" in elsewhere


def affinity(*terms: str) -> str:
    """Values with an affinity of the plugin."""
    required = ", ".join(f"{{matchExpressions: [{term}]}}" for term in terms)
    return f"gpuResourcesEnabledOverride: true\nkubeletPlugin: {{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{required}]}}}}}}}}\n"


PCI = "{key: feature.node.kubernetes.io/pci-10de.present, operator: Exists}"
PRESENT = "{key: nvidia.com/gpu.present, operator: Exists}"


def test_an_affinity_with_alternatives_needs_one_label() -> None:
    outputs = value_findings(affinity(PCI, PRESENT))
    assert len(outputs) == 2
    for output in outputs:
        assert (
            "the plugin runs only on nodes with feature.node.kubernetes.io/pci-10de.present or nvidia.com/gpu.present, and pool"
            in output
        )
        assert "is not known to carry any of them" in output
        assert 'fix: make nvidia.com/gpu.present: "true" a label of the pool' in output


def test_an_affinity_of_one_term_needs_all_its_labels() -> None:
    for output in value_findings(affinity(f"{PCI}, {PRESENT}")):
        assert "nodes with feature.node.kubernetes.io/pci-10de.present, nvidia.com/gpu.present, and" in output
        assert "is not known to carry all of them" in output


def test_a_node_without_a_label_meets_a_requirement_to_lack_its_value() -> None:
    for operator in ("operator: NotIn, values: [vm-passthrough]", "operator: DoesNotExist"):
        without = f"{{key: nvidia.com/gpu.workload.config, {operator}}}"
        outputs = value_findings(affinity(f"{PRESENT}, {without}"))
        assert len(outputs) == 2
        for output in outputs:
            assert "the plugin runs only on nodes with nvidia.com/gpu.present, and pool" in output
            assert "is not known to carry it" in output
        assert value_findings(affinity(without)) == []


def test_a_node_selector_and_an_affinity_with_alternatives_need_two_labels() -> None:
    text = affinity(PCI, f"{PRESENT}, {{key: example.com/b, operator: In, values: [x, z]}}")
    outputs = value_findings(
        text.replace("kubeletPlugin: {", "kubeletPlugin: {nodeSelector: {example.com/a: 'on'}, ")
    )
    assert len(outputs) == 2
    for output in outputs:
        assert (
            "kubeletPlugin.nodeSelector: the plugin runs only on nodes with example.com/a, and with example.com/b and nvidia.com/gpu.present or feature.node.kubernetes.io/pci-10de.present, and pool"
            in output
        )
        assert "is not known to carry them; got: " in output
        assert (
            'fix: make example.com/a: "on", example.com/b: …, nvidia.com/gpu.present: "true" labels of the pool'
            in output
        )


def test_the_label_by_which_an_operator_evicts_the_plugin_is_missing_without_its_driver() -> None:
    label = "nvidia.com/dra-kubelet-plugin"
    selected = f"kubeletPlugin: {{affinity: null, nodeSelector: {{{label}: 'true'}}}}\n"
    outputs = value_findings("gpuResourcesEnabledOverride: true\n" + selected)
    assert len(outputs) == 2
    for output in outputs:
        assert f"the plugin runs only on nodes with {label}, and pool" in output
        assert f'fix: make {label}: "true" a label of the pool' in output


def test_a_template_of_another_namespace_is_not_among_the_allowed_ones() -> None:
    there = template("one", exactly("gpu", "gpu.nvidia.com")).replace(
        "{name: one", "{namespace: a, name: one"
    )
    here = template("two", exactly("gpu", "gpu.nvidia.com")).replace("{name: two", "{namespace: b, name: two")
    waiting = pod("one").replace("{name: p", "{namespace: b, name: p")
    [output] = on(there + here + waiting, lab=H100)
    assert (
        "resourceClaimTemplateName: is in namespace a; a pod in b cannot use it; got: one; allowed: two; fix: namespace: a [claim-unknown]"
        in output
    )


def test_a_class_that_selects_nothing_asks_for_its_driver_only_if_the_driver_is_not_installed() -> None:
    text = class_(
        "ada",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].architecture == 'Ada Lovelace'",
    )
    [output] = on(text, lab=H100)
    assert "matches 0 of 8 devices of the fleet's nodes" in output
    assert "to the cluster's drivers" not in output
    [output] = on(text, lab=cluster("cpu-16", drivers={"example": {"version": "0.4.0"}}))
    assert "fix: add nvidia to the cluster's drivers" in output


def test_pods_that_share_a_claim_with_a_sharing_strategy_are_meant_to_share() -> None:
    claim = (
        template("both", exactly("gpu", "gpu.nvidia.com"), ", config: [CONFIG]")
        .replace("ResourceClaimTemplate", "ResourceClaim")
        .replace("spec: {spec: {", "spec: {")
        .replace("}}}\n", "}}\n")
    )
    deployment = (
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 2, template: "
        + POD.replace("resourceClaimTemplateName: missing", "resourceClaimName: both")
        + "}\n"
    )
    strategy = "{opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}}}"
    served = cluster("hgx-h100-8", drivers=nvidia(featureGates={"MPSSupport": True}))
    assert on(claim.replace("CONFIG", strategy) + deployment, lab=served) == []
    [output] = on(claim.replace("CONFIG", "") + deployment, lab=served)
    assert "all 2 pods share the devices of the one claim both" in output
    [output] = on(
        claim.replace("CONFIG", strategy) + deployment.replace("replicas: 2", "replicas: 300"), lab=served
    )
    assert "a claim serves at most 256 pods, this requests 300 of claim both" in output


def test_gates_of_a_driver_that_the_stack_does_not_install_are_off_by_default() -> None:
    text = template(
        "slow",
        exactly("gpu", "gpu.nvidia.com"),
        ", config: [{opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}}}]",
    )
    [output] = on(text, lab=cluster("hgx-h100-8", drivers={}))
    assert " warning: " in output
    assert "feature gate MPSSupport, which is off by default: if it is off, no pod with it starts" in output
    [output] = on(text, lab=H100)
    assert " error: " in output
    assert "feature gate MPSSupport, which is off: no pod with it would start" in output


def test_a_template_whose_name_was_not_rendered_may_be_the_one_that_a_pod_names() -> None:
    text = template("'${APP}-gpu'", exactly("gpu", "gpu.nvidia.com"))
    mark, doubt = on(text + pod("plex-gpu"), lab=H100)
    assert "metadata.name: was not rendered: ${APP} is not a value" in mark
    assert (
        "warning: Pod p spec.resourceClaims[0].resourceClaimTemplateName: cannot be checked: it may be ResourceClaimTemplate ${APP}-gpu, which was not rendered; got: plex-gpu; fix: render that file first [claim-unknown]"
        in doubt
    )
    mark, mistake = on(text + pod("plex-nic"), lab=H100)
    assert "error: Pod p spec.resourceClaims[0].resourceClaimTemplateName: is not a" in mistake


def test_a_class_whose_selector_is_always_true_has_every_device() -> None:
    [output] = on(class_("any", "true"), lab=H100)
    assert (
        "warning: DeviceClass any spec: its selector is always true, so that it holds every device of every driver; fix: select by device.driver at least [class-without-selector]"
        in output
    )


def test_devices_in_the_form_of_v1beta1_lose_their_attributes_in_v1() -> None:
    slice_ = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d.example, nodeName: n, pool: {name: n, generation: 1, resourceSliceCount: 1}, devices: [{name: a, basic: {attributes: {x: {int: 1}}}}, {name: b, basic: {}}]}\n"
    [output] = on(slice_, lab=H100)
    assert (
        "error: ResourceSlice s spec.devices[0].basic: unknown field: basic is the shape of v1beta1; allowed: attributes and capacity directly under a device; fix: write the fields of basic directly under the device [api-version]"
        in output
    )
    [output] = on(slice_.replace("k8s.io/v1\n", "k8s.io/v1beta1\n"), lab=H100)
    assert "apiVersion: resource.k8s.io/v1beta1 is removed in 1.38" in output


def test_a_version_of_a_group_that_is_served_on_request_only_is_no_full_fix() -> None:
    group = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec: {schedulingPolicy: {basic: {}}}\n"
    [output] = on(group, lab=H100)
    assert (
        "fix: apiVersion: scheduling.k8s.io/v1alpha2, if its API and feature gate were turned on; managed clusters do not [api-version]"
        in output
    )


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("device.health.score > 0.9", "<input>:1:7: undefined field 'health' (Kubernetes 1.36)"),
        ("device.a.b.c == 1", "<input>:1:7: undefined field 'a' (Kubernetes 1.36)"),
        (
            "device.driver.x == 'a'",
            "<input>:1:14: type 'string' does not support field selection (Kubernetes 1.36)",
        ),
    ],
)
def test_an_unknown_field_of_a_device_has_the_server_s_message(expression: str, message: str) -> None:
    [output] = on(class_("fields", expression), lab=H100)
    assert f"compilation failed: ERROR: {message}" in output


MI300X = cluster("oam-mi300x-8", drivers={"amd": {"version": "v1.0.1"}})


def test_network_cards_of_a_gpu_vendor_have_another_plugin() -> None:
    assert on(limits("amd.com/nic: 1"), lab=MI300X) == []
    for name in ("amd.com/gpu", "amd.com/cpx_nps4"):
        [output] = on(limits(f"{name}: 1"), lab=MI300X)
        assert f"error: Pod p spec.containers[0].resources.limits.{name}: asks a device plugin" in output


def test_a_privileged_container_sees_devices_without_their_claim() -> None:
    text = template("g", exactly("gpu", "gpu.nvidia.com")) + pod("g").replace(
        "resources: {claims: [{name: own}]}", "securityContext: {privileged: true}"
    )
    [output] = on(text, lab=H100)
    assert (
        "no container takes claim own: its devices are allocated and only privileged containers see" in output
    )


def test_nodes_without_devices_need_a_pool_with_devices() -> None:
    [output] = on(limits("nvidia.com/gpu: 1"), lab=cluster("cpu-16", drivers={}))
    assert "where at most 0 match; got: 1; fix: add a pool that has such devices" in output


def test_a_class_that_was_read_from_the_driver_s_release_is_that_of_its_chart() -> None:
    own = class_("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'")
    read = own.replace(".com}", ".com, annotations: {meta.helm.sh/release-name: d}}", 1)
    assert on(read, lab=H100) == []
    [output] = on(own, lab=H100)
    assert output.endswith("[class-of-chart]")


def test_claims_that_a_container_lists_belong_to_its_pod() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i, %sresources: {claims: [{name: own}]}}]\n"
    [output] = on(text % "resourceClaims: [{name: own, resourceClaimName: one}], ", lab=H100)
    assert "; fix: move resourceClaims from the container to the pod's spec [container-claim]" in output
    [output] = on(text % "", lab=H100)
    assert "; fix: list the claim under resourceClaims of the pod [container-claim]" in output
