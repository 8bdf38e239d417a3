# ruff: noqa: E501 - messages and YAML are written as they are reported
"""Findings in public manifests that were wrong when all of them were read a second time."""

from dra_fleet.check import ValuesFile
from tests.check.check_helpers import check, cluster, nvidia, on, plan_on
from tests.check.test_published_systems import class_, exactly, template

H100 = cluster("hgx-h100-8")


def test_the_driver_itself_binds_the_gpus_of_virtual_machines_to_vfio() -> None:
    [output] = on(template("vm", exactly("gpu", "vfio.gpu.nvidia.com")), lab=H100)
    assert (
        "; fix: set featureGates: {PassthroughSupport: true} of the driver's values; on nodes with an IOMMU, the driver then binds GPUs to vfio-pci itself [no-device-matches]"
        in output
    )


def test_a_removed_kind_is_reported_with_the_version_that_removed_it() -> None:
    text = "apiVersion: resource.k8s.io/v1alpha2\nkind: KIND\nmetadata: {name: one}\ndriverName: gpu.example.com\n"
    [output] = on(text.replace("KIND", "ResourceClass"), lab=H100)
    assert "resource.k8s.io has no such kind since Kubernetes 1.31; got: ResourceClass" in output
    assert (
        "; fix: apiVersion: resource.k8s.io/v1 and kind: DeviceClass, which selects by device.driver instead of driverName [object-refused]"
        in output
    )
    [output] = on(text.replace("KIND", "PodSchedulingContext"), lab=H100)
    assert "resource.k8s.io has no such kind since Kubernetes 1.32; got: PodSchedulingContext" in output
    assert "; fix: remove it [object-refused]" in output


def test_a_list_without_its_gate_leaves_an_attribute_without_a_value() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d.example, nodeName: n, pool: {name: n, generation: 1, resourceSliceCount: 1}, devices: [{name: a, attributes: {roots: {strings: [x, y]}}}]}\n"
    [output] = on(text, lab=H100)
    assert (
        "spec.devices[0].attributes.roots.strings: Kubernetes 1.36 refuses this attribute, whose only value is a list: feature gate DRAListTypeAttributes is off there; no known minor has it on by default; fix: omit the attribute [object-refused]"
        in output
    )
    [output] = on(text, lab=cluster("hgx-h100-8", kubernetes="1.35"))
    assert (
        "Kubernetes 1.35 does not have this field; it exists from 1.36; fix: remove the attribute" in output
    )


def test_parameters_that_a_driver_does_not_read_with_its_values_are_not_checked() -> None:
    config = "{opaque: {driver: dra.cpu, parameters: {apiVersion: v1alpha1, cpuConfig: {relocatable: true}}}}"
    text = template("cpus", exactly("cpus", "dra.cpu"), f", config: [{config}]")

    def found(**values: object) -> list[str]:
        installed = {"dracpu": {"version": "0.2.0", "values": values}}
        return [line for line in on(text, lab=cluster("cpu-16", drivers=installed)) if "parameters" in line]

    [output] = found()
    assert (
        "warning: ResourceClaimTemplate cpus spec.spec.devices.config[0].opaque.parameters: is not read: driver dra.cpu reads parameters only if its chart's values have args.groupBy: machine; fix: remove the entry of config, or set args.groupBy: machine [parameters-refused]"
        in output
    )
    guesses = [line for line in on(text, lab=cluster("cpu-16", drivers={})) if "parameters" in line]
    assert [line.split(": ")[1] for line in guesses] == ["warning", "warning"]
    required, unknown = found(args={"groupBy": "machine"})
    assert "parameters.cpuConfig.cpuset: is required; fix: set cpuConfig.cpuset" in required
    assert (
        "parameters.cpuConfig.relocatable: is not a field of OpaqueConfig; the driver would ignore it"
        in unknown
    )


def test_an_attribute_of_all_devices_is_unknown_if_a_description_omits_it() -> None:
    def found(expression: str, version: str, **described: str) -> list[str]:
        igpu = {
            "driver": "gpu.intel.com",
            "name": "igpu",
            "attributes": {"model": "Iris Xe", **described},
        }
        lab = cluster({"cpus": 16, "memory": 64}, drivers={"intel": {"version": version}}, devices=[igpu])  # type: ignore[arg-type]
        cel = f", selectors: [{{cel: {{expression: \"device.attributes['gpu.intel.com'].{expression}\"}}}}]"
        return on(template("one", exactly("gpu", "gpu.intel.com", cel)), lab=lab)

    assert found("type == 'vf'", "0.11.1") == []
    assert found("pciId == '0x46a6'", "0.10.0") == []
    [absent] = found("type == 'vf'", "0.10.0")
    assert "fails on igpu-0 of pool gpus (no such key: type)" in absent
    [other] = found("type == 'vf'", "0.11.1", type="gpu")
    assert "matches 0 of 1 devices of the fleet's nodes" in other
    [never] = found("generation == 12", "0.11.1")
    assert "no driver publishes device.attributes['gpu.intel.com'].generation" in never


def test_a_look_up_without_a_domain_gets_the_domain_of_the_class() -> None:
    def found(class_name: str, expression: str) -> str:
        cel = f", selectors: [{{cel: {{expression: '{expression}'}}}}]"
        [output] = on(template("one", exactly("gpu", class_name, cel)), lab=H100)
        return output

    old = 'device.attributes["productName"].string == "NVIDIA A100" && device.capacity["memory"].quantity >= quantity("40Gi")'
    assert (
        """; fix: device.attributes['gpu.nvidia.com'].productName == "NVIDIA A100" && device.capacity['gpu.nvidia.com'].memory.compareTo(quantity("40Gi")) >= 0 [cel-invalid]"""
        in found("gpu.nvidia.com", old)
    )
    assert """; fix: device.attributes['gpu.nvidia.com'].type == "gpu" [cel-fails]""" in found(
        "gpu.nvidia.com", 'device.attributes["type"].string == "gpu"'
    )


def test_a_correction_with_a_look_up_of_an_unknown_domain_is_not_proposed() -> None:
    expression = "device.attributes['productName'].string == 'A100' && device.capacity['memory'].quantity >= quantity('40Gi')"
    [output] = on(class_("gpus", expression), lab=H100)
    assert "compilation failed" in output
    assert "fix:" not in output


def test_an_expression_beside_an_empty_cel_is_one_finding_about_its_indentation() -> None:
    text = template("one", exactly("gpu", "gpu.nvidia.com", ", selectors: [{cel: , expression: 'true'}]"))
    [output] = on(text, lab=H100)
    assert (
        "selectors[0].expression: unknown field; a server refuses it or drops it silently; fix: indent expression, so that it belongs to cel [object-refused]"
        in output
    )
    [other] = on(text.replace(", expression: 'true'", ""), lab=H100)
    assert "selectors[0].cel: is required [object-refused]" in other


def test_a_number_that_must_be_a_string_is_put_in_quotes() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d.example, nodeName: n, pool: {name: n, generation: 1, resourceSliceCount: 1}, devices: [{name: a, attributes: {subsystem: {string: VALUE}}}]}\n"
    for value in ("0208", "true", "1.5"):
        [output] = on(text.replace("VALUE", value), lab=H100)
        assert "subsystem.string: must be a string; fix: put the value in quotes [object-refused]" in output
    assert on(text.replace("VALUE", "'0208'"), lab=H100) == []
    [output] = on(text.replace("VALUE", "[a]"), lab=H100)
    assert "subsystem.string: must be a string [object-refused]" in output


def test_device_taint_rules_need_another_version_and_a_later_kubernetes() -> None:
    rule = "apiVersion: resource.k8s.io/VERSION\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec: {taint: {key: a, effect: NoSchedule}}\n"
    [output] = on(rule.replace("VERSION", "v1beta2"), lab=H100)
    assert (
        "; fix: cordon the node, or write apiVersion: resource.k8s.io/v1 on Kubernetes 1.37 or later [api-version]"
        in output
    )
    newer = cluster("hgx-h100-8", kubernetes="1.37")
    assert on(rule.replace("VERSION", "v1"), lab=newer) == []
    [output] = on(rule.replace("VERSION", "v1beta2"), lab=newer)
    assert "; fix: apiVersion: resource.k8s.io/v1 [api-version]" in output


def test_values_that_leave_gpus_to_the_driver_beside_a_device_plugin_get_the_value_to_write() -> None:
    pools = {
        "gpus": {**H100["pools"]["gpus"], "machine": "dgx-a100-80-8", "advertise": "compute-domain-only"}
    }
    lab = {
        **cluster("dgx-a100-80-8", drivers=nvidia(resources={"computeDomains": {"enabled": True}})),
        "pools": pools,
    }
    values = ValuesFile(
        chart="dra-driver-nvidia-gpu",
        version="0.5.0",
        name="v",
        data=b"gpuResourcesEnabledOverride: true\nresources: {computeDomains: {enabled: true}}\n",
    )
    found = [str(item) for item in check(plan_on(lab=lab), [], [values])]
    [output] = [line for line in found if "device-plugin-beside-driver" in line]
    assert (
        "resources.gpus.enabled: publishes the devices of gpus, which a device plugin advertises; got: true; allowed: false; fix: resources.gpus.enabled: false, or set advertise: dra on gpus"
        in output
    )


def test_the_fix_of_an_old_slice_names_the_fields_that_v1_moves() -> None:
    def found(version: str, fields: str) -> list[str]:
        return on(
            f"apiVersion: resource.k8s.io/{version}\nkind: ResourceSlice\nmetadata: {{name: s}}\n{fields}\n",
            lab=H100,
        )

    pool = "driver: d.example, nodeName: n, pool: {name: n, generation: 1, resourceSliceCount: 1}"
    [output] = found("v1beta1", f"spec: {{{pool}, devices: [{{name: a, basic: {{}}}}]}}")
    assert (
        "; fix: apiVersion: resource.k8s.io/v1, and write the fields of basic directly under each device [api-version]"
        in output
    )
    [output] = found("v1beta2", f"spec: {{{pool}, devices: [{{name: a}}]}}")
    assert output.endswith("; fix: apiVersion: resource.k8s.io/v1 [api-version]")
    [output] = found("v1alpha2", "nodeName: n\ndriverName: d.example\nnamedResources: {instances: []}")
    assert (
        "; fix: apiVersion: resource.k8s.io/v1, and write driver, pool and devices under spec [api-version]"
        in output
    )
    version, *others = found("v1alpha2", "spec: {driverName: d.example, devices: [{name: a, basic: {}}]}")
    assert "and write the fields of basic directly under each device [api-version]" in version
    assert [line for line in others if "spec.driverName: unknown field" in line] != []


def test_a_copy_of_a_chart_s_class_is_to_be_removed_and_another_one_renamed() -> None:
    copy = class_(
        "gpu.nvidia.com",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
    )
    [output] = on(copy, lab=H100)
    assert (
        "; fix: remove the class; claims may request the chart's class without declaring it [class-of-chart]"
        in output
    )
    [output] = on(copy.replace(" && device.attributes['gpu.nvidia.com'].type == 'gpu'", ""), lab=H100)
    assert (
        "; fix: choose another name; claims may request the chart's class without declaring it [class-of-chart]"
        in output
    )
