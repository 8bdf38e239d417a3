# ruff: noqa: E501 - messages and YAML are written as they are reported
"""YAML blocks of pages and threads, which people copy: kinds of mistakes and of classes that they have."""

import pytest

from dra_fleet.check import ManifestFile
from tests.check.check_helpers import check, cluster, on, plan_on
from tests.check.test_published_systems import API, class_, exactly, template

H100 = cluster("hgx-h100-8")
EXAMPLE = cluster("cpu-16", drivers={"example": {"version": "0.4.0"}})


def pod(claim: str, used: str) -> str:
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  resourceClaims: [{claim}]\n"
        f"  containers: [{{name: c, image: i, resources: {{claims: [{used}]}}}}]\n"
    )


TEMPLATE = template("one", exactly("gpu", "gpu.nvidia.com"))
LISTED = "{name: own, resourceClaimTemplateName: one}"


def test_a_claim_that_a_container_names_without_a_mapping_is_reported_as_such() -> None:
    [output] = on(TEMPLATE + pod(LISTED, "own"), lab=H100)
    assert output.endswith(
        " error: Pod p spec.containers[0].resources.claims[0]: must be a mapping with the name of the claim; got: own; fix: {name: own} [container-claim]"
    )


@pytest.mark.parametrize("request_", ["{driver: nvidia.com/gpu}", "[gpu]", "1"])
def test_a_request_that_is_no_text_gets_no_suggestion(request_: str) -> None:
    [output] = on(TEMPLATE + pod(LISTED, f"{{name: own, request: {request_}}}"), lab=H100)
    assert "claims[0].request: must be a string, the name of a request of the claim; got: " in output
    assert "fix: " not in output


@pytest.mark.parametrize("field", ["resourceClassName", "deviceClassName"])
def test_a_class_in_a_pod_s_claim_is_no_misspelled_claim(field: str) -> None:
    [output] = on(TEMPLATE + pod(f"{{name: own, {field}: gpu.nvidia.com}}", "{name: own}"), lab=H100)
    assert (
        f"spec.resourceClaims[0].{field}: unknown field; a server refuses it or drops it silently; allowed: name, resourceClaimName, resourceClaimTemplateName; fix: write resourceClaimTemplateName, the name of a ResourceClaimTemplate that requests the class [claim-entry]"
        in output
    )


def test_claim_templates_in_a_pod_are_an_unknown_field() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: "
        "{containers: [{name: c, image: i}], resourceClaimTemplates: [{metadata: {name: gpu}}]}}}\n"
    )
    [output] = on(text, lab=H100)
    assert (
        "error: Deployment d spec.template.spec.resourceClaimTemplates: unknown field; a server refuses it or drops it silently; fix: list the claims under resourceClaims, each with name and resourceClaimName or resourceClaimTemplateName [claim-entry]"
        in output
    )


DOUBT = "cannot be checked: what driver audio.example.org publishes cannot be predicted"


@pytest.mark.parametrize(
    ("expression", "is_doubted"),
    [
        ("has(device.attributes['audio.example.org'].sink)", True),
        ("'sink' in device.attributes['audio.example.org']", True),
        ("has(device.attributes['gpu.nvidia.com'].sink)", False),
        ("has(device.attributes['resource.kubernetes.io'].sink)", False),
        ("device.driver == 'gpu.nvidia.com' && has(device.attributes['audio.example.org'].sink)", False),
    ],
)
def test_a_class_that_reads_an_unknown_driver_s_domain_only_is_doubted(
    expression: str, *, is_doubted: bool
) -> None:
    output = [line for line in on(class_("sink", expression), lab=H100) if "[cel-never" not in line]
    assert len(output) == 1
    assert (DOUBT in output[0], "[no-device-matches]" in output[0]) == (is_doubted, not is_doubted)


EFA = "device.driver == 'dra.net' && device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'"


def test_only_the_installed_version_s_classes_are_the_chart_s() -> None:
    of_kubernetes = cluster("hgx-h100-8", drivers={"dranet": {"version": "1.4.0"}})
    output = on(class_("efa.networking.k8s.aws", EFA), lab=of_kubernetes)
    assert [line for line in output if "chart installs" in line] == []


@pytest.mark.parametrize(
    ("more", "fix"),
    [("", "remove the class"), ("  extendedResourceName: example.com/gpu\n", "choose another name")],
)
def test_a_class_with_more_than_the_chart_s_keeps_what_it_adds(more: str, fix: str) -> None:
    text = f"{API}kind: DeviceClass\nmetadata: {{name: gpu.example.com}}\nspec:\n{more}  selectors: [{{cel: {{expression: \"device.driver == 'gpu.example.com'\"}}}}]\n"
    [output] = on(text, lab=EXAMPLE)
    assert f"chart installs itself; got: gpu.example.com; fix: {fix}; claims may" in output


def test_two_objects_without_a_separator_are_one_mistake() -> None:
    text = class_("a", "device.driver == 'gpu.nvidia.com'").removeprefix("---\n")
    output = on(text + text, lab=H100)
    assert [line for line in output if "twice" in line] == [
        "f:5:1: error: holds the key 'apiVersion' twice; fix: write --- between two objects [unreadable]"
    ]


def test_a_claim_without_an_api_version_is_reported_in_a_folder_too() -> None:
    text = TEMPLATE.replace(API, "")
    found = check(plan_on(lab=H100), [ManifestFile(name="f", data=text.encode(), is_named=False)])
    assert [(item.rule, item.fix) for item in found] == [("no-object", "add apiVersion")]
    values = check(plan_on(lab=H100), [ManifestFile(name="f", data=b"kind: DeviceClass\n", is_named=False)])
    assert values == []


def test_a_claim_template_under_source_becomes_an_object() -> None:
    inline = "{name: own, source: {template: {spec: {devices: {requests: [{name: gpu}]}}}}}"
    [output] = on(pod(inline, "{name: own}"), lab=H100)
    assert output.endswith(
        "; fix: write resourceClaimTemplateName, the name of a ResourceClaimTemplate with the spec of this template [claim-entry]"
    )
    for field in ("resourceClaimName", "resourceClaimTemplateName"):
        [output] = on(pod(f"{{name: own, source: {{{field}: one}}}}", "{name: own}"), lab=H100)
        assert output.endswith(f"; fix: write {field} directly under the claim [claim-entry]")


@pytest.mark.parametrize(
    ("device", "is_reported"),
    [
        ("claimRequest: {claimName: own, requestName: gpu}", True),
        ("claimName: own, requestName: gpu", False),
    ],
)
def test_a_device_of_a_machine_names_its_claim_directly(device: str, *, is_reported: bool) -> None:
    machine = (
        "---\napiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: vm}\n"
        f"spec: {{resourceClaims: [{LISTED}], domain: {{devices: {{hostDevices: [{{name: d, {device}}}]}}}}}}\n"
    )
    assert [line for line in on(TEMPLATE + machine, lab=H100) if "[container-claim]" in line] == (
        [
            "f:10:114: error: VirtualMachineInstance vm spec.domain.devices.hostDevices[0].claimRequest: unknown field; a server refuses it or drops it silently; fix: write claimName and requestName directly under the device [container-claim]"
        ]
        if is_reported
        else []
    )


def test_a_second_mapping_under_one_key_is_merged_or_is_of_another_object() -> None:
    pod = "spec:\n  containers: [{name: c, image: i}]\n"
    text = f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: a}}\nspec: {{}}\n{pod}"
    first = next(line for line in on(text, lab=H100) if "holds the key 'spec' twice" in line)
    assert (
        "fix: merge the two, or write ---, apiVersion and kind before the second if it is of another" in first
    )


def test_a_label_of_an_existing_pool_is_named_in_its_selector() -> None:
    labelled = pod(LISTED, "{name: own}").replace(
        "spec:\n", "spec:\n  nodeSelector: {example.com/disk: fast}\n"
    )
    [output] = [line for line in on(TEMPLATE + labelled, lab=H100) if "[label-unknown]" in line]
    assert output.endswith(
        "; fix: add the label to nodeSelector of the pool, if its nodes have it [label-unknown]"
    )


def test_parameters_that_only_a_controller_writes_are_not_to_be_set() -> None:
    config = (
        ", config: [{opaque: {driver: compute-domain.nvidia.com, parameters: "
        "{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig}}}]"
    )
    text = template("one", exactly("channel", "compute-domain-default-channel.nvidia.com"), config)
    [output] = [line for line in on(text, lab=H100) if "domainID" in line]
    assert "fix: declare a ComputeDomain; the controller makes this template with its id" in output


def test_devices_whose_type_is_unknown_are_counted_without_it() -> None:
    igpu = {"driver": "gpu.intel.com", "name": "igpu", "count": 1, "attributes": {"model": "Iris Xe"}}
    lab = cluster("cpu-16", drivers={"intel": {"version": "0.11.0"}}, devices=[igpu])
    [output] = on(template("one", exactly("gpu", "gpu.intel.com", ", count: 2")), lab=lab)
    assert "requests 2 devices of one node, where at most 1 in pool gpus match" in output
