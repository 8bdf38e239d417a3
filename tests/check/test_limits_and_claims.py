import pytest

from dra_fleet.check import ManifestFile, ValuesFile
from tests.check.check_helpers import check, cluster, on, plan_on
from tests.drivers.nvidia.test_compute_domains import domain
from tests.fleet.plan.plan_helpers import planned


def limited(count: int, name: str = "nvidia.com/gpu") -> str:
    """A Deployment whose pods ask by a device plugin's name."""
    container = f"{{name: c, image: i, resources: {{limits: {{{name}: {count}}}}}}}"
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: server}\nspec:\n"
        "  selector: {matchLabels: {app: server}}\n  template:\n    metadata: {labels: {app: server}}\n"
        f"    spec: {{containers: [{container}]}}\n"
    )


def test_limits_are_answered_by_a_device_plugin_s_pool_as_far_as_one_node_has_gpus() -> None:
    plugin = cluster("hgx-h100-8", kubernetes="1.35", advertise="device-plugin")
    assert on(limited(8), lab=plugin) == []
    [output] = on(limited(9), lab=plugin)
    assert "requests 9 devices by nvidia.com/gpu on one node, where at most 8 match" in output


def test_limits_are_answered_on_pools_of_either_kind() -> None:
    both = cluster("hgx-h100-8", advertise="dra")
    both["pools"]["old"] = {
        "machine": "hgx-a100-40-4",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "old"},
        "advertise": "device-plugin",
    }
    assert on(limited(8), lab=both) == []
    both["pools"]["gpus"]["machine"] = "pcie-t4-1"
    assert on(limited(4), lab=both) == []
    [output] = on(limited(5), lab=both)
    assert "requests 5 devices by nvidia.com/gpu on one node, where at most 4 match" in output


def test_a_name_whose_class_has_no_devices_is_not_proposed() -> None:
    whole = cluster("dgx-a100-40-8")
    divided = cluster("dgx-a100-40-8", sharing={"strategy": "mig", "layout": {"1g.5gb": 4, "3g.20gb": 1}})
    for lab, allowed in ((whole, "nvidia.com/gpu"), (divided, "no extended resource name on this stack")):
        [output] = on(limited(1, "nvidia.com/mig-1g.5gb"), lab=lab)
        assert f"allowed: {allowed}; fix: use resources.claims with a claim of the pod" in output


def test_operator_may_advertise_the_pools_that_say_so() -> None:
    plan = plan_on(lab=cluster("dgx-a100-80-8", advertise="device-plugin"))
    data = b"devicePlugin: {enabled: true}\ndriver: {enabled: false}\n"
    assert (
        list(check(plan, [], [ValuesFile(chart="gpu-operator", version="v25.10.0", name="v", data=data)]))
        == []
    )


def test_driver_must_stay_off_the_pools_of_a_device_plugin() -> None:
    plan = plan_on(lab=cluster("hgx-h100-8", advertise="device-plugin"))
    own = ValuesFile(
        chart="dra-driver-nvidia-gpu", version="0.5.0", name="v", data=b"gpuResourcesEnabledOverride: true\n"
    )
    [output] = [str(item) for item in check(plan, [], [own])]
    assert "lets the plugin start on pool gpus, whose devices a device plugin advertises" in output


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: rank-0, namespace: gpu-workloads}
spec:
  resourceClaims: [{name: channel, resourceClaimTemplateName: NAME}]
  containers:
    - name: main
      image: registry.k8s.io/pause:3.10
      resources: {claims: [{name: channel}]}
"""


def output(name: str, template: str | None) -> list[str]:
    fleet = domain()
    if template is not None:
        fleet["computeDomains"]["pretrain"]["template"] = template
    file = ManifestFile(name="f.yaml", data=POD.replace("NAME", name).encode())
    return [str(finding) for finding in check(planned(fleet), [file])]


def test_a_template_that_the_stack_names_is_known_and_fits() -> None:
    assert output("imex", "imex") == []


def test_a_template_without_a_name_is_reported_with_the_way_to_get_one() -> None:
    (found,) = output("pretrain-channel", None)
    assert "is a template of the stack whose name gets a suffix with every change" in found
    assert "set computeDomains.pretrain.template: pretrain-channel in the stack file" in found


def test_a_template_of_no_domain_is_unknown() -> None:
    (found,) = output("imax", "imex")
    assert "is not a ResourceClaimTemplate of the stack or of the files checked" in found


def test_intel_s_plugin_is_not_proposed_beside_its_driver() -> None:
    igpu = {"driver": "gpu.intel.com", "name": "igpu", "count": 1, "attributes": {"model": "Iris Xe"}}
    lab = cluster("cpu-16", drivers={"intel": {"version": "0.11.0"}}, devices=[igpu])
    for name in ("gpu.intel.com/i915", "gpu.intel.com/xe", "intel.com/gpu"):
        [output] = on(limited(1, name), lab=lab)
        assert "asks a device plugin, and the pools of this stack publish their devices by DRA only" in output
        assert "fix: use resources.claims with a claim of the pod" in output


def test_resources_of_other_devices_of_a_vendor_are_not_reported() -> None:
    for name in ("intel.com/sgx", "qat.intel.com/generic", "amd.com/nic", "example.com/fpga"):
        assert on(limited(1, name), lab=cluster("cpu-16")) == []


@pytest.mark.parametrize(
    "name", ["amd.com/gpu", "amd.com/cpx_nps4", "gpu.intel.com/xe", "aws.amazon.com/neuron"]
)
def test_devices_that_no_pool_has_are_reported_by_the_names_of_their_device_plugins(name: str) -> None:
    [output] = on(limited(1, name), lab=cluster("cpu-16"))
    assert "requests a resource of an unknown device plugin: no pool is known to offer it" in output


def test_limits_of_the_model_of_a_predictor_are_checked() -> None:
    text = (
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: llm}\n"
        "spec: {predictor: {model: {resources: {limits: {nvidia.com/gpu: 9}}}}}\n"
    )
    [output] = on(text, lab=cluster("hgx-h100-8", advertise="device-plugin"))
    assert "spec.predictor.model.resources.limits.nvidia.com/gpu: requests 9 devices" in output
