# ruff: noqa: E501 - messages and YAML are written as they are reported

import pytest

from tests.check.check_helpers import cluster, on
from tests.check.test_published_systems import class_, exactly, template

H100 = cluster("hgx-h100-8")
PLUGIN = cluster("hgx-h100-8", drivers={}, advertise="device-plugin")


def affinity(*terms: str) -> str:
    """A pod with a GPU and required node affinity."""
    required = ", ".join(f"{{matchExpressions: [{term}]}}" for term in terms)
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        f"  affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{required}]}}}}}}\n"
        "  containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]\n"
    )


def unknown_labels(text: str) -> list[str]:
    found = [line for line in on(text, lab=H100) if line.endswith("[label-unknown]")]
    return [
        line.partition("requests label ")[2].partition(", which no pool of the stack is known to carry")[0]
        for line in found
    ]


A, B = ("{key: example.com/a, operator: In, values: [x]}", "{key: example.com/b, operator: Exists}")


@pytest.mark.parametrize("operator", ["operator: DoesNotExist", "operator: NotIn, values: [vm]"])
def test_pods_do_not_request_a_label_that_their_nodes_must_lack(operator: str) -> None:
    absent = f"{{key: example.com/vm, {operator}}}"
    assert unknown_labels(affinity(absent)) == []
    assert unknown_labels(affinity(f"{absent}, {A}")) == ["example.com/a"]


def test_a_label_of_an_alternative_is_reported_only_if_no_other_alternative_may_match() -> None:
    known = "{key: example.com/pool, operator: In, values: [gpus]}"
    assert unknown_labels(affinity(A, known)) == []
    assert unknown_labels(affinity(A, B)) == ["example.com/a", "example.com/b"]
    assert unknown_labels(affinity(f"{A}, {B}", A)) == ["example.com/a"]


def limits(*requested: str) -> str:
    """A pod whose containers request GPUs: the last one in `containers`, the others in `initContainers`."""
    texts = [
        f"{{name: c{index}, image: i, {one}}}"
        for index, one in enumerate(
            text.replace("GPUS", "resources: {limits: {nvidia.com/gpu") for text in requested
        )
    ]
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{initContainers: [{', '.join(texts[:-1])}], containers: [{texts[-1]}]}}\n"


def test_init_containers_pass_their_gpus_on_to_the_others() -> None:
    assert on(limits("GPUS: 8}}", "GPUS: 8}}"), lab=PLUGIN) == []
    [output] = on(limits("GPUS: 9}}", "GPUS: 8}}"), lab=PLUGIN)
    assert "requests 9 devices by nvidia.com/gpu on one node, where at most 8 match" in output
    [output] = on(limits("restartPolicy: Always, GPUS: 8}}", "GPUS: 8}}"), lab=PLUGIN)
    assert "requests 16 devices by nvidia.com/gpu on one node, where at most 8 match" in output


def test_a_resource_that_the_device_plugins_of_the_pools_lack_is_reported_with_theirs() -> None:
    text = limits("GPUS: 1}}").replace("nvidia.com/gpu", "nvidia.com/mig-1g.10gb")
    [output] = on(text, lab=PLUGIN)
    assert (
        "error: Pod p spec.containers[0].resources.limits.nvidia.com/mig-1g.10gb: is not a resource of the device plugins of this stack: the pod would wait for ever; got: 1; allowed: nvidia.com/gpu; fix: request an allowed resource [device-plugin]"
        in output
    )
    [output] = on(text, lab=H100)
    assert "asks a device plugin, and the pools of this stack publish their devices by DRA only" in output


SHARED = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  template:
    spec:
      resourceClaims: [{name: own, resourceClaimName: one}]
      containers: [{name: c, image: i, resources: {claims: [{name: own}]}}]
"""


def claim(class_name: str) -> str:
    text = template("one", exactly("dev", class_name)).replace("ResourceClaimTemplate", "ResourceClaim")
    return text.replace("spec: {spec: {", "spec: {").replace("}}}\n", "}}\n")


@pytest.mark.parametrize(
    "text",
    [claim("imex.nvidia.com"), class_("fabric", "device.driver == 'fabric.example'") + claim("fabric")],
    ids=["unknown class", "unknown driver"],
)
def test_devices_of_an_unknown_driver_may_serve_pods_on_several_nodes(text: str) -> None:
    [output] = [line for line in on(text + SHARED, lab=H100) if line.endswith("[claim-shared]")]
    assert (
        "warning: Deployment d spec.replicas: all 2 pods share the devices of the one claim one, and run on the node that has them, unless they serve several nodes; got: 2; fix: use resourceClaimTemplateName if each pod needs its own [claim-shared]"
        in output
    )


def test_gpus_that_pods_share_are_on_one_node() -> None:
    [output] = on(claim("gpu.nvidia.com") + SHARED, lab=H100)
    assert "and run on the node that has them; got: 2; fix: use resourceClaimTemplateName to give" in output


GRAPH = """\
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Worker:
      resources: {claims: [{name: NAME}]}
      extraPodSpec:
        resourceClaims: [{name: gpu, resourceClaimName: one}]
        mainContainer: {image: i}
"""


def test_a_service_takes_claims_beside_the_fields_of_its_pod() -> None:
    where = "DynamoGraphDeployment g spec.services.Worker."
    assert on(claim("gpu.nvidia.com") + GRAPH.replace("NAME", "gpu"), lab=H100) == []
    [output] = on(GRAPH.replace("NAME", "gpu"), lab=H100)
    assert (
        f"error: {where}extraPodSpec.resourceClaims[0].resourceClaimName: is not a ResourceClaim of the stack or of the files checked; got: one"
        in output
    )
    mistyped, unused = on(claim("gpu.nvidia.com") + GRAPH.replace("NAME", "gpus"), lab=H100)
    assert (
        f"error: {where}resources.claims[0].name: must be one of the names in pod.spec.resourceClaims; got: gpus"
        in mistyped
    )
    assert "no container takes claim gpu" in unused


@pytest.mark.parametrize("sidecars", ["[]", "[{name: proxy, image: i}]"])
def test_a_service_with_sidecars_uses_the_claims_of_its_pod(sidecars: str) -> None:
    graph = GRAPH.replace("mainContainer", f"containers: {sidecars}\n        mainContainer")
    assert on(claim("gpu.nvidia.com") + graph.replace("NAME", "gpu"), lab=H100) == []
    mistyped, unused = on(claim("gpu.nvidia.com") + graph.replace("NAME", "gpus"), lab=H100)
    assert "Worker.resources.claims[0].name: must be one of the names in pod.spec.resourceClaims" in mistyped
    assert unused.endswith("[claim-not-taken]")


@pytest.mark.parametrize("sidecars", ["[]", "[{name: proxy, image: i}]"])
def test_a_main_container_with_sidecars_uses_the_claims_of_its_pod(sidecars: str) -> None:
    graph = GRAPH.replace("      resources: {claims: [{name: NAME}]}\n", "").replace(
        "mainContainer: {image: i}",
        f"containers: {sidecars}\n        mainContainer: {{image: i, resources: {{claims: [{{name: gpu}}]}}}}",
    )
    assert on(claim("gpu.nvidia.com") + graph, lab=H100) == []


NAMED_CLASS = """\
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: hami-gpu}
spec:
  selectors: [{cel: {expression: device.driver == 'hami-core-gpu.project-hami.io'}}]
  extendedResourceName: nvidia.com/gpu
"""


def test_a_resource_name_of_a_driver_that_runs_nowhere_is_not_a_duplicate() -> None:
    [selector] = on(NAMED_CLASS, lab=PLUGIN)
    assert "spec.selectors[0].cel.expression: cannot be checked" in selector
    for lab in (H100, cluster("hgx-h100-8", drivers={})):
        _, name = on(NAMED_CLASS, lab=lab)
        assert "is the name of class gpu.nvidia.com too" in name
        assert name.endswith("[extended-resource-twice]")
