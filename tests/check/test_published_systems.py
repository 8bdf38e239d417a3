# ruff: noqa: E501 - messages and YAML are written as they are reported
"""Systems that were published: what their recipes get wrong is reported, and their corrected forms pass.

The recipes of the vGPU, MIG, size and ACK systems are files: test_published_recipes.py.
"""

from dra_fleet.check import ValuesFile
from tests.check.check_helpers import check, cluster, nvidia, on, plan_on

API = "apiVersion: resource.k8s.io/v1\n"


def class_(name: str, expression: str) -> str:
    return f'---\n{API}kind: DeviceClass\nmetadata: {{name: {name}}}\nspec: {{selectors: [{{cel: {{expression: "{expression}"}}}}]}}\n'


def template(name: str, requests: str, more: str = "") -> str:
    return f"---\n{API}kind: ResourceClaimTemplate\nmetadata: {{name: {name}}}\nspec: {{spec: {{devices: {{requests: [{requests}]{more}}}}}}}\n"


def exactly(name: str, class_name: str, more: str = "") -> str:
    return f"{{name: {name}, exactly: {{deviceClassName: {class_name}{more}}}}}"


def pod(template_name: str, container: str = "") -> str:
    claims = f"claims: [{{name: own}}]{container}"
    return (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        f"  resourceClaims: [{{name: own, resourceClaimTemplateName: {template_name}}}]\n"
        f"  containers: [{{name: c, image: i, resources: {{{claims}}}}}]\n"
    )


def operator(text: str, version: str = "v25.10.0", **pool: str) -> list[str]:
    """Return the findings in values of the GPU Operator."""
    plan = plan_on(lab=cluster("dgx-a100-80-8", **pool))
    return [
        str(item)
        for item in check(
            plan, [], [ValuesFile(chart="gpu-operator", version=version, name="v", data=text.encode())]
        )
    ]


def test_s2_s_operator_values_make_no_partitions() -> None:
    published = (
        "mig: {strategy: single}\ndevicePlugin: {enabled: false}\ndriver: {enabled: true}\n"
        'toolkit: {env: [{name: ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED, value: "false"}]}\n'
    )
    (text,) = operator(published, gpuDriver="operator")
    assert "mig.strategy: makes no MIG partitions" in text
    assert operator(published.replace("single", "none"), gpuDriver="operator") == []


def test_s3_s_time_slicing_by_the_operator_advertises_what_dra_allocates() -> None:
    [output] = operator("devicePlugin: {config: {name: time-slicing}}\n", gpuDriver="operator")
    assert "devicePlugin.enabled: would advertise the GPUs of gpus, which the DRA driver publishes" in output


def test_s3_s_operator_does_not_install_a_driver_beside_the_host_s() -> None:
    [output] = operator("devicePlugin: {enabled: false}\n")
    assert "driver.enabled: contradicts pool gpus (gpuDriver: host): two owners of one GPU driver" in output
    assert operator("devicePlugin: {enabled: false}\ndriver: {enabled: false}\n") == []


def test_an_unknown_key_or_version_of_the_operator_is_reported() -> None:
    values = "devicePlugin: {enabled: false}\ndriver: {enabled: false}\nmigs: {strategy: single}\n"
    [output] = operator(values)
    assert "v:3:1: error: values of gpu-operator v25.10.0 migs: is not a value of chart v25.10.0" in output
    [output] = operator("{}", "v25")
    assert "chart gpu-operator has no known version 'v25'; allowed: v25.3.0" in output


GENERATIONS = class_(
    "hopper",
    "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].architecture == 'Hopper'",
) + class_(
    "ampere",
    "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].architecture == 'Ampere'",
)
FALLBACK = "{name: gpu, firstAvailable: [{name: new, deviceClassName: hopper}, {name: old, deviceClassName: ampere, count: 2}]}"


def test_s4_s_one_manifest_for_several_types_of_gpu_passes_where_both_are_there() -> None:
    both = cluster("hgx-h100-8")
    both["pools"]["old"] = {
        "machine": "dgx-a100-80-8",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "old"},
    }
    assert on(GENERATIONS + template("any", FALLBACK) + pod("any"), lab=both) == []


def test_s4_s_one_manifest_for_clusters_with_different_gpus_passes_on_each() -> None:
    both = {"new": cluster("hgx-h100-8"), "old": cluster("dgx-a100-80-8")}
    assert on(GENERATIONS + template("any", FALLBACK) + pod("any"), **both) == []


def test_s4_s_type_that_no_cluster_has_is_reported() -> None:
    output = on(GENERATIONS + template("any", FALLBACK), new=cluster("hgx-h100-8"))
    assert len(output) == 1
    assert "error: DeviceClass ampere" in output[0]
    assert "architecture == 'Ampere'` is not true on gpu-0 of pool gpus (architecture Hopper)" in output[0]


TPU = class_("tpu", "device.driver == 'tpu.google.com'")


def test_s5_s_chips_of_a_node_pass_all_together() -> None:
    lab = cluster("ct5lp-hightpu-4t", drivers={})
    assert (
        on(TPU + template("all", exactly("tpu", "tpu", ", allocationMode: All")) + pod("all"), lab=lab) == []
    )
    assert on(TPU + template("four", exactly("tpu", "tpu", ", count: 4")), lab=lab) == []


def test_s5_s_chips_of_a_node_cannot_be_taken_apart() -> None:
    [output] = on(TPU + template("one", exactly("tpu", "tpu")), lab=cluster("ct5lp-hightpu-4t", drivers={}))
    assert "error: ResourceClaimTemplate one spec.spec.devices.requests[0].exactly" in output
    assert (
        "takes 1 of the 4 TPU chips of a node, which the driver prepares all together for one claim" in output
    )


SERVED = {"resources": {"computeDomains": {"enabled": True}}}
DOMAINS = cluster("hgx-h100-8", drivers=nvidia(**SERVED))
DOMAIN = """---
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: nvl}
spec: {%schannel: {resourceClaimTemplate: {name: nvl-channel}}}
"""


def test_s7_s_pods_use_the_template_that_the_controller_makes() -> None:
    assert on(DOMAIN % "numNodes: 0, " + pod("nvl-channel"), lab=DOMAINS) == []


def test_s7_s_number_of_nodes_holds_no_pod_back_where_daemons_have_names() -> None:
    assert on(DOMAIN % "numNodes: 2, ", lab=DOMAINS) == []
    assert on(DOMAIN % "", lab=DOMAINS) == []


def test_s7_s_number_of_nodes_is_needed_where_daemons_have_no_names() -> None:
    gates = {"IMEXDaemonsWithDNSNames": False, "ComputeDomainCliques": False}
    off = cluster("hgx-h100-8", drivers=nvidia(**SERVED, featureGates=gates))
    [output] = on(DOMAIN % "numNodes: 0, ", lab=off)
    assert (
        "spec.numNodes: must be the number of nodes that join: feature gate IMEXDaemonsWithDNSNames" in output
    )
    assert on(DOMAIN % "numNodes: 2, ", lab=off) == []


def test_s7_s_domain_waits_for_ever_where_the_driver_does_not_serve_domains() -> None:
    [output] = on(DOMAIN % "numNodes: 0, ", lab=cluster("hgx-h100-8"))
    assert "error: ComputeDomain nvl: would wait for ever: the stack's driver does not serve" in output


def test_s7_s_fields_are_those_of_a_compute_domain() -> None:
    [output] = on(DOMAIN % "nodes: 2, ", lab=DOMAINS)
    assert "error: ComputeDomain nvl spec.nodes: unknown field" in output
    [output] = on(DOMAIN % "numNodes: -1, ", lab=DOMAINS)
    assert "error: ComputeDomain nvl spec.numNodes: " in output


def test_s7_s_channel_template_is_not_declared_twice() -> None:
    own = template("nvl-channel", exactly("channel", "compute-domain-default-channel.nvidia.com"))
    output = on(DOMAIN % "numNodes: 0, " + own, lab=cluster("hgx-h100-8", drivers={}))
    assert len(output) == 1
    assert "spec.channel.resourceClaimTemplate.name: is created by the driver's controller" in output[0]


def sized(least: str) -> str:
    at_least = f"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{least}')) >= 0"
    return class_("big", f"device.driver == 'gpu.nvidia.com' && {at_least}")


def test_s10_s_eighty_gibibytes_match_no_gpu_that_is_sold_with_eighty_gigabytes() -> None:
    [output] = on(sized("80Gi"), lab=cluster("hgx-h100-8"))
    assert "matches 0 of " in output
    assert "(memory 81559Mi)" in output
    assert on(sized("20Gi"), lab=cluster("hgx-h100-8")) == []


PART = template("part", exactly("gpu", "gpu.nvidia.com", ", capacity: {requests: {memory: 10Gi}}"))
SHARES = nvidia(featureGates={"ConsumableShares": True}, consumableShares="memory")


def test_s11_s_part_of_a_gpu_passes_where_it_is_shared() -> None:
    assert on(PART, lab=cluster("dgx-a100-40-8", drivers=SHARES)) == []


def test_s11_s_part_is_dropped_silently_below_1_36() -> None:
    [output] = on(PART, lab=cluster("dgx-a100-40-8", "1.35"))[:1]
    assert "Kubernetes 1.35 drops this field silently" in output


def test_s11_s_part_of_a_gpu_that_is_not_shared_is_the_whole_gpu() -> None:
    [output] = on(PART, lab=cluster("dgx-a100-40-8"))
    assert "warning" in output
    assert (
        "requests a part, but these devices cannot be shared: the claim holds a whole one of 8 of type gpu in pool gpus"
        in output
    )


def test_s11_s_part_is_asked_for_by_the_name_that_is_published() -> None:
    wrong = PART.replace("memory: 10Gi", "gpu.nvidia.com/memory: 10Gi")
    [output] = on(wrong, lab=cluster("dgx-a100-40-8", drivers=SHARES))
    assert "error: ResourceClaimTemplate part" in output
    assert "publishes the capacity gpu.nvidia.com/memory" in output
    assert "part-of-device" not in output


def sharing(parameters: str, class_name: str = "gpu.nvidia.com", kind: str = "GpuConfig") -> str:
    body = f"{{apiVersion: resource.nvidia.com/v1beta1, kind: {kind}, {parameters}}}"
    config = f", config: [{{requests: [gpu], opaque: {{driver: gpu.nvidia.com, parameters: {body}}}}}]"
    return template("shared", exactly("gpu", class_name), config)


SLICED = "sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}"
MPS = "sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50, defaultPinnedDeviceMemoryLimit: 10Gi}}"
GATES = nvidia(featureGates={"TimeSlicingSettings": True, "MPSSupport": True})


def test_s12_s_sharing_passes_with_the_driver_s_gates() -> None:
    assert on(sharing(SLICED), lab=cluster("hgx-h100-8", drivers=GATES)) == []
    assert on(sharing(MPS), lab=cluster("hgx-h100-8", drivers=GATES)) == []


def test_s12_s_sharing_needs_the_driver_s_gates() -> None:
    [output] = on(sharing(SLICED), lab=cluster("hgx-h100-8"))
    assert (
        "sharing.strategy: TimeSlicing needs the driver's feature gate TimeSlicingSettings, which is off"
        in output
    )
    [output] = on(sharing(SLICED), lab=cluster("hgx-h100-8", drivers={}))
    assert " warning: " in output


def test_s12_s_unknown_configuration_is_reported_before_a_pod_depends_on_it() -> None:
    lab = cluster("hgx-h100-8", drivers=GATES)
    for parameters, words in {
        "sharing: {strategy: TimeSlice}": "sharing.strategy: is rejected by the driver; got: TimeSlice; allowed: TimeSlicing, MPS",
        "sharing: {strategy: TimeSlicing, timeSlicingConfig: {}}": "sharing.timeSlicingConfig.interval: is required",
        "sharing: {strategy: TimeSlicing, timeSlicingConfig: {intervall: Long}}": "timeSlicingConfig.intervall: is not a field of GpuConfig",
        "sharing: {strategy: MPS, timeSlicingConfig: {interval: Long}}": "interval: is rejected unless sharing.strategy is TimeSlicing",
        "sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 101}}": "Percentage: must be at most 100",
        "sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 1Ki}}": "MemoryLimit: must be at least 1Mi",
        "shares: 4": "shares: is not a field of GpuConfig",
    }.items():
        output = on(sharing(parameters), lab=lab)
        assert any(words in line for line in output), (parameters, output)


def test_s12_s_kind_must_be_one_that_the_driver_decodes_and_fit_the_device() -> None:
    lab = cluster("hgx-h100-8", drivers=GATES)
    [output] = on(sharing(SLICED, kind="GPUConfig"), lab=lab)
    assert "parameters.kind: is not a kind that driver gpu.nvidia.com decodes" in output
    assert "did you mean GpuConfig?" in output
    cut = cluster("dgx-a100-80-8", drivers=GATES, sharing={"strategy": "mig", "layout": {"1g.10gb": 4}})
    [output] = on(sharing(SLICED, "mig.nvidia.com"), lab=cut)
    assert "GpuConfig is for devices of type gpu, and class mig.nvidia.com has those of type mig" in output


def constrained(attribute: str) -> str:
    return template(
        "pair",
        exactly("gpus", "gpu.nvidia.com", ", count: 2"),
        f", constraints: [{{matchAttribute: {attribute}}}]",
    )


def test_s13_s_attribute_must_be_one_that_the_driver_publishes() -> None:
    lab = cluster("hgx-h100-8")
    assert on(constrained("resource.kubernetes.io/numaNode"), lab=lab) == []
    [output] = on(constrained("gpu.nvidia.com/pciRoot"), lab=lab)
    assert "publishes the attribute gpu.nvidia.com/pciRoot of matchAttribute" in output


def test_s13_s_gpu_beside_its_nic_is_not_checked_if_it_is_unknown_the_nics() -> None:
    text = class_("rdma", "device.driver == 'dra.net'") + template(
        "near",
        exactly("gpu", "gpu.nvidia.com") + ", " + exactly("nic", "rdma"),
        ", constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]",
    )
    output = on(text, lab=cluster("hgx-h100-8", drivers={}))
    assert len(output) == 1
    assert "warning: DeviceClass rdma" in output[0]


def grouped(version: str) -> str:
    return f"apiVersion: scheduling.k8s.io/{version}\nkind: Workload\nmetadata: {{name: gang}}\nspec: {{}}\n"


def test_s14_s_grouping_is_refused_where_its_version_is_not_served_and_doubted_where_it_is_off() -> None:
    [output] = on(grouped("v1alpha1"), lab=cluster("hgx-h100-8"))
    assert (
        "error: Workload gang apiVersion: is not served by Kubernetes 1.36; got: scheduling.k8s.io/v1alpha1; allowed: scheduling.k8s.io/v1alpha2"
        in output
    )
    [output] = on(grouped("v1alpha2"), lab=cluster("hgx-h100-8"))
    assert "warning: Workload gang apiVersion: is served by Kubernetes 1.36 only where the API and" in output


PLUGIN = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}\n"


def test_s15_s_limits_of_the_device_plugin_keep_working_from_1_36() -> None:
    assert on(PLUGIN, lab=cluster("hgx-h100-8")) == []


def test_s15_s_limits_of_the_device_plugin_wait_for_ever_below_1_36() -> None:
    [output] = on(PLUGIN, lab=cluster("hgx-h100-8", "1.35"))
    assert "limits.nvidia.com/gpu: asks a device plugin" in output
    assert "the pod would wait for ever" in output


def test_s16_s_other_drivers_are_checked_where_they_are_known_and_else_doubted() -> None:
    text = class_("any", "device.driver == 'gpu.example.com'") + template("one", exactly("gpu", "any"))
    assert on(text, lab=cluster("cpu-16", drivers={"example": {"version": "0.4.0"}})) == []
    other = text.replace("gpu.example.com", "neuron.aws.com")
    [output] = on(other, lab=cluster("hgx-h100-8", drivers={}))
    assert "what driver neuron.aws.com publishes cannot be predicted" in output
