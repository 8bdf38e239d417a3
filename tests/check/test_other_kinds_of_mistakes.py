# ruff: noqa: E501 - YAML is written as in files

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from dra_fleet import check as checking
from dra_fleet.check import FileFinding, ManifestFile, ValuesFile
from dra_fleet.check.rewriting import corrected, guarded_by_driver, guarded_by_presence, of_type
from dra_fleet.check.selectors import never_published
from dra_fleet.cli.main import app
from dra_fleet.kubernetes.cel import CelDevice, environment
from tests.check.check_helpers import LAB, ROOT, check, cluster, plan_of, plan_on, value_findings
from tests.check.test_published_systems import exactly, template

H100 = cluster("hgx-h100-8")


def found(text: str, **clusters: Any) -> list[FileFinding]:
    return check(plan_on(**(clusters or {"lab": H100})), [ManifestFile(name="f", data=text.encode())])


def summary(text: str, **clusters: Any) -> list[tuple[str, str, str]]:
    return [(item.severity, item.rule, item.path) for item in found(text, **clusters)]


@pytest.mark.parametrize(
    ("head", "path", "fix"),
    [
        ("apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass", "kind", "kind: DeviceClass"),
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplat",
            "kind",
            "did you mean ResourceClaimTemplate?",
        ),
        (
            "apiVersion: resources.k8s.io/v1\nkind: ResourceClaim",
            "apiVersion",
            "apiVersion: resource.k8s.io/v1",
        ),
    ],
)
def test_kinds_and_groups_that_do_not_exist_are_errors(head: str, path: str, fix: str) -> None:
    (one,) = found(f"{head}\nmetadata: {{name: one}}\nspec: {{}}\n")
    assert (one.severity, one.rule, one.path, one.fix) == ("error", "object-refused", path, fix)


def test_fields_of_a_device_taint_rule_are_checked() -> None:
    rule = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: r}\n"
        "spec: {deviceSelector: {driver: gpu.nvidia.com, node: n1}, taint: {key: a.example/b, effect: Evict}}\n"
    )
    on_137 = cluster("hgx-h100-8", kubernetes="1.37")
    assert summary(rule, lab=on_137) == [
        ("error", "object-refused", "spec.deviceSelector.node"),
        ("error", "object-refused", "spec.taint.effect"),
    ]


def test_an_object_without_a_name_is_an_error() -> None:
    nameless = template("one", exactly("gpu", "gpu.nvidia.com")).replace(
        "metadata: {name: one}", "metadata: {}"
    )
    assert ("error", "object-refused", "") in summary(nameless)


def test_an_owner_reference_without_uid_is_an_error() -> None:
    owned = template("one", exactly("gpu", "gpu.nvidia.com")).replace(
        "metadata: {name: one}",
        "metadata: {name: one, ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]}",
    )
    assert summary(owned) == [("error", "object-refused", "metadata.ownerReferences[0]")]


@pytest.mark.parametrize(
    ("head", "below"),
    [
        (
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet",
            ("template", "cliques", 0, "spec", "podSpec"),
        ),
        ("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService", ("predictor",)),
        ("apiVersion: argoproj.io/v1alpha1\nkind: Workflow", ("templates", 0)),
    ],
)
def test_pods_inside_unknown_kinds_are_checked(head: str, below: tuple[str | int, ...]) -> None:
    spec: Any = {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "none"}],
    }
    for part in reversed(below):
        spec = [spec] if isinstance(part, int) else {part: spec}
    text = f"{head}\nmetadata: {{name: serve}}\nspec: {json.dumps(spec)}\n"
    (one,) = found(text)
    assert (one.severity, one.rule) == ("error", "claim-unknown")


def test_a_claim_of_an_unknown_class_that_no_container_takes_is_a_warning() -> None:
    pod = (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n"
        "  resourceClaims: [{name: fpga, resourceClaimTemplateName: fpga}]\n"
    )
    rules = [rule for _, rule, _ in summary(template("fpga", exactly("dev", "fpga.example.org")) + pod)]
    assert "claim-not-taken" in rules


def test_claims_of_networks_are_for_the_whole_pod() -> None:
    pod = (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n"
        "  resourceClaims: [{name: rdma, resourceClaimTemplateName: rdma}]\n"
    )
    rules = [rule for _, rule, _ in summary(template("rdma", exactly("dev", "mrdma.google.com")) + pod)]
    assert "claim-not-taken" not in rules


def test_a_wrong_api_version_of_opaque_parameters_does_not_hide_the_rest() -> None:
    config = (
        ", config: [{requests: [gpu], opaque: {driver: gpu.nvidia.com, parameters: "
        "{apiVersion: resource.nvidia.com/v1, kind: GpuConfig, sharing: {strategy: Fast}}}}]"
    )
    paths = [path for _, _, path in summary(template("one", exactly("gpu", "gpu.nvidia.com"), config))]
    assert any(path.endswith("parameters.apiVersion") for path in paths)
    assert any(path.endswith("sharing.strategy") for path in paths)


def test_claims_in_the_resources_of_a_pod_are_an_error() -> None:
    pod = (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        "  resources: {claims: [{name: gpu}]}\n"
        "  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]\n"
        "  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]\n"
    )
    assert summary(template("one", exactly("gpu", "gpu.nvidia.com")) + pod) == [
        ("error", "container-claim", "spec.resources.claims")
    ]


def test_one_object_twice_with_two_specs_is_a_warning() -> None:
    one, two = (template("one", exactly("gpu", "gpu.nvidia.com", more)) for more in ("", ", count: 2"))
    assert summary(one + two) == [("warning", "object-twice", "metadata.name")]
    assert summary(one + one) == []


@pytest.mark.parametrize(
    "text",
    [
        'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {big.deviceclass.resource.k8s.io/devices: "4"}}\n',
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmetadata: {name: k}\nresources: {deviceClassMappings: [{name: gpus, deviceClassNames: [big]}]}\n",
    ],
)
def test_quotas_and_mappings_of_classes_that_are_not_there_are_warnings(text: str) -> None:
    (one,) = found(text)
    assert (one.severity, one.rule, one.got) == ("warning", "class-not-judged", "big")
    assert found(text.replace("big", "gpu.nvidia.com")) == []


def test_a_shell_variable_in_a_script_is_no_leftover_of_a_template() -> None:
    one = template("one", exactly("gpu", "gpu.nvidia.com"))
    script = one.replace("metadata: {name: one}", 'metadata: {name: one, labels: {s: "echo $HOME\\nexit"}}')
    assert "not-rendered" not in [rule for _, rule, _ in summary(script)]
    mark = one.replace("metadata: {name: one}", "metadata: {name: one, labels: {s: $HOME_DIR}}")
    assert "not-rendered" in [rule for _, rule, _ in summary(mark)]


def test_chips_of_a_node_are_counted_by_claim() -> None:
    asked = exactly("a", "tpu.google.com", ", count: 2") + ", " + exactly("b", "tpu.google.com", ", count: 2")
    lab = cluster("ct6e-standard-4t", drivers={"tpu": {"version": "0.2.0"}})
    assert "chips-apart" not in [rule for _, rule, _ in summary(template("one", asked), lab=lab)]
    half = template("one", exactly("a", "tpu.google.com", ", count: 2"))
    assert "chips-apart" in [rule for _, rule, _ in summary(half, lab=lab)]


def test_a_field_that_a_version_lacks_is_not_said_to_be_behind_a_gate() -> None:
    request = exactly("gpu", "gpu.nvidia.com", ", derivedAttributes: [{name: a.example/b}]")
    texts = [item.what for item in found(template("one", request))]
    assert any("Kubernetes 1.36 does not have this field; it exists from 1.37" in text for text in texts)


def test_json_lists_skipped_objects_as_skipped(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    result = CliRunner().invoke(app, ["check", str(file), "--stack", str(LAB), "--json"])
    content = json.loads(result.stdout)
    assert sum(content["skipped"].values()) == 1
    assert "passed" not in content


MISTAKES = [
    "device.attributes['gpu.nvidia.com/type'] == 'gpu'",
    "device.capacity['gpu.nvidia.com'].memory > '40Gi'",
    "device.driver = 'gpu.nvidia.com' and device.attributes['gpu.nvidia.com'].type.startswith('g')",
    "device.attributes['gpu.nvidia.com'].cudaComputeCapability >= '9.0'",
    "device.capacity['gpu.nvidia.com'].type == 'gpu'",
    "device.attributes['gpu.nvidia.com'].memory.compareTo(quantity('1Gi')) > 0",
    "device.attributes['gpu.nvidia.com'].pcieRoot == 'pci0000:00'",
    "device.attributes.productName == 'NVIDIA H100'",
    "device.attributes['gpu.nvidia.com'].type == 'gpu' || true",
]


@pytest.mark.parametrize("expression", MISTAKES)
def test_every_fix_that_writes_cel_compiles_and_evaluates(expression: str) -> None:
    cel = environment("1.36")
    fixes = [
        corrected(expression, cel),
        guarded_by_driver("device.attributes['gpu.nvidia.com'].type == 'gpu' || false", "gpu.nvidia.com"),
        guarded_by_presence(
            "device.attributes['gpu.nvidia.com'].uuid != ''", "device.attributes", "gpu.nvidia.com", "uuid"
        ),
        of_type("device.driver == 'gpu.nvidia.com'", "gpu.nvidia.com", "mig"),
        *(
            wrong[2]
            for variable in ("device.attributes", "device.capacity")
            for name in ("type", "memory", "pcieRoot")
            if (wrong := never_published(variable, "gpu.nvidia.com", name, expression)) is not None
            and wrong[2].startswith("device.")
        ),
    ]
    device = CelDevice.of({"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}, "gpu.nvidia.com")
    for fix in filter(None, fixes):
        assert cel.compile(fix).evaluate(device).outcome in ("true", "false", "error", "unknown")


def test_a_fix_never_names_another_driver() -> None:
    assert "gpu.nvidia.com" not in corrected("device.attributes['model'] == 'A770'", environment("1.36"))
    assert corrected("device.capacity['memory'].compareTo(quantity('1Gi')) > 0", environment("1.36")) == ""


def test_the_nearest_device_is_the_one_whose_text_is_most_alike() -> None:
    selector = ", selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].productName == 'NVIDIA A100-SXM4-40G'\"}}]"
    two = cluster("hgx-h100-8")
    two["pools"]["old"] = {**two["pools"]["gpus"], "machine": "dgx-a100-40-8", "nodeSelector": {"p": "old"}}
    (one,) = found(template("one", exactly("gpu", "gpu.nvidia.com", selector)), lab=two)
    assert "of pool old" in one.what


def test_checking_reports_how_many_objects_it_skipped() -> None:
    result = checking.check(
        plan_on(lab=H100),
        [ManifestFile(name="f", data=b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")],
    )
    assert sum(result.passed.values()) == 1


CONTROLLER = """
gpuResourcesEnabledOverride: true
controller:
  nodeSelector: {%s}
"""


def test_a_controller_sent_to_a_label_that_no_node_has_is_a_warning() -> None:
    found_there = value_findings(CONTROLLER % "example.com/tools: system")
    assert any("label example.com/tools, which no pool of the stack" in text for text in found_there)


def test_a_controller_sent_only_to_a_tainted_pool_is_an_error(tmp_path: Path) -> None:
    lab = yaml.safe_load(LAB.read_text(encoding="utf-8"))
    clusters = lab["config"]["dra-fleet:fleet"]["clusters"]
    name, settings = next(iter(clusters.items()))
    pool = next(iter(settings["pools"].values()))
    pool["taints"] = [{"key": "example.com/gpus", "effect": "NoSchedule"}]
    label = ", ".join(f"{key}: {value}" for key, value in pool["nodeSelector"].items())
    stack = tmp_path / "tainted.yaml"
    stack.write_text(yaml.safe_dump(lab), encoding="utf-8")
    found_there = value_findings(CONTROLLER % label, stack)
    assert name
    assert any(
        "sends the controller only to pools whose taints it does not tolerate" in text for text in found_there
    )


def test_a_mig_strategy_that_makes_no_partitions_is_a_warning() -> None:
    stack = ROOT / "tests/data/recipes/s2/published-stack.yaml"
    data = (ROOT / "tests/data/recipes/s2/published-operator-values.yaml").read_bytes()
    operator = ValuesFile(chart="gpu-operator", version="v25.10.0", name="v.yaml", data=data)
    texts = [item.what for item in check(plan_of(stack), [], [operator])]
    assert any(text.startswith("makes no MIG partitions") for text in texts)


def test_the_owner_of_a_gpu_driver_is_called_as_in_the_stack_file() -> None:
    stack = ROOT / "examples/aks-vgpu.yaml"
    data = b"driver: {enabled: true}\ndevicePlugin: {enabled: false}\n"
    operator = ValuesFile(chart="gpu-operator", version="v25.10.0", name="v.yaml", data=data)
    texts = [item.what for item in check(plan_of(stack), [], [operator])]
    assert any("(gpuDriver: aks)" in text for text in texts)


def test_a_wrong_driver_root_names_the_owner_as_in_the_stack_file() -> None:
    root, chart = "nvidiaDriverRoot: /run/nvidia/driver\n", "nvidia-dra-driver-gpu@25.8.1"
    texts = [
        text
        for text in value_findings(root, ROOT / "examples/aks-vgpu.yaml", chart)
        if "is not where" in text
    ]
    assert texts
    assert all("(gpuDriver: aks); the plugin would find no GPU" in text for text in texts)
