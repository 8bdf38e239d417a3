"""One file that passes, broken in one place at a time: each rule tells exactly this."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_helpers import findings

GOOD = (Path(__file__).parent / "good.yaml").read_text()
CASES = [
    (
        "a_beta_version",
        "resource.k8s.io/v1\nkind: ResourceClaimTemplate",
        "resource.k8s.io/v1beta1\nkind: ResourceClaimTemplate",
        [
            "10:1: error: ResourceClaimTemplate one apiVersion: resource.k8s.io/v1beta1 is removed in 1.38, and served before that only where it was turned on; got: resource.k8s.io/v1beta1; allowed: resource.k8s.io/v1; fix: apiVersion: resource.k8s.io/v1, and write deviceClassName, selectors and count of a request under exactly"
        ],
    ),
    (
        "a_second_beta_version",
        "resource.k8s.io/v1\nkind: DeviceClass",
        "resource.k8s.io/v1beta2\nkind: DeviceClass",
        [
            "1:1: error: DeviceClass whole apiVersion: resource.k8s.io/v1beta2 is removed in 1.39, and served before that only where it was turned on; got: resource.k8s.io/v1beta2; allowed: resource.k8s.io/v1; fix: apiVersion: resource.k8s.io/v1"
        ],
    ),
    (
        "an_alpha_version",
        "resource.k8s.io/v1\nkind: DeviceClass",
        "resource.k8s.io/v1alpha3\nkind: DeviceClass",
        [
            "1:1: error: DeviceClass whole apiVersion: resource.k8s.io/v1alpha3 is no longer served; got: resource.k8s.io/v1alpha3; allowed: resource.k8s.io/v1; fix: apiVersion: resource.k8s.io/v1"
        ],
    ),
    (
        "the_old_shape_of_a_request",
        "          exactly:\n            deviceClassName: whole\n            count: 1",
        "          deviceClassName: whole\n          count: 1",
        [
            "19:11: error: ResourceClaimTemplate one spec.spec.devices.requests[0].deviceClassName: unknown field: deviceClassName, count directly under a request is the shape of v1beta1; allowed: name with exactly or firstAvailable; fix: exactly: {deviceClassName: …, count: …}"
        ],
    ),
    (
        "an_unknown_field",
        "            count: 1",
        "            counts: 1",
        [
            "21:13: error: ResourceClaimTemplate one spec.spec.devices.requests[0].exactly.counts: unknown field; a server refuses it or drops it without a word"
        ],
    ),
    (
        "a_count_of_nothing",
        "            count: 1",
        "            count: -1",
        [
            "21:13: error: ResourceClaimTemplate one spec.spec.devices.requests[0].exactly.count: must be greater than zero"
        ],
    ),
    (
        "an_unknown_class",
        "deviceClassName: mig-5g",
        "deviceClassName: mig-6g",
        [
            "36:13: error: ResourceClaim shared spec.devices.requests[0].firstAvailable[1].deviceClassName: is neither a class of the stack or of its drivers, nor one of the files checked; got: mig-6g; allowed: mig-5g, mig-1g-5gb, at-least-20g, compute-domain-daemon.nvidia.com, compute-domain-default-channel.nvidia.com, gpu.nvidia.com, mig.nvidia.com, vfio.gpu.nvidia.com, whole; fix: did you mean mig-5g?"
        ],
    ),
    (
        "more_devices_than_a_node_has",
        "            count: 1",
        "            count: 9",
        [
            "21:13: error: ResourceClaimTemplate one spec.spec.devices.requests[0].exactly.count: asks for 9 devices of one node, where at most 8 of type gpu in pool h100 match; got: 9; fix: ask for fewer, or for a pool with larger machines"
        ],
    ),
    (
        "a_class_of_the_chart",
        "  name: whole",
        "  name: gpu.nvidia.com",
        [
            "4:3: error: DeviceClass gpu.nvidia.com metadata.name: is the name of a class that the nvidia driver's chart installs itself; got: gpu.nvidia.com; fix: choose another name; claims may request the chart's class without declaring it",
            "20:13: error: ResourceClaimTemplate one spec.spec.devices.requests[0].exactly.deviceClassName: is neither a class of the stack or of its drivers, nor one of the files checked; got: whole; allowed: at-least-20g, compute-domain-daemon.nvidia.com, compute-domain-default-channel.nvidia.com, gpu.nvidia.com, mig-1g-5gb, mig-5g, mig.nvidia.com, vfio.gpu.nvidia.com",
            "34:13: error: ResourceClaim shared spec.devices.requests[0].firstAvailable[0].deviceClassName: is neither a class of the stack or of its drivers, nor one of the files checked; got: whole; allowed: at-least-20g, compute-domain-daemon.nvidia.com, compute-domain-default-channel.nvidia.com, gpu.nvidia.com, mig-1g-5gb, mig-5g, mig.nvidia.com, vfio.gpu.nvidia.com",
        ],
    ),
    (
        "two_claims_in_one",
        "resourceClaimTemplateName: one",
        "resourceClaimTemplateName: one\n          resourceClaimName: shared",
        [
            "48:11: error: Deployment serve spec.template.spec.resourceClaims[0]: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified; allowed: exactly one of the two"
        ],
    ),
    (
        "no_claim_at_all",
        "          resourceClaimTemplateName: one\n",
        "",
        [
            "48:11: error: Deployment serve spec.template.spec.resourceClaims[0]: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`; allowed: exactly one of the two"
        ],
    ),
    (
        "the_old_source",
        "          resourceClaimTemplateName: one",
        "          source: {resourceClaimTemplateName: one}",
        [
            "49:11: error: Deployment serve spec.template.spec.resourceClaims[0].source: unknown field: `source` was removed in Kubernetes 1.31; fix: write resourceClaimTemplateName directly under the claim"
        ],
    ),
    (
        "an_unknown_template",
        "resourceClaimTemplateName: one",
        "resourceClaimTemplateName: onn",
        [
            "49:11: error: Deployment serve spec.template.spec.resourceClaims[0].resourceClaimTemplateName: is no ResourceClaimTemplate of the stack or of the files checked; got: onn; allowed: one; fix: did you mean one?"
        ],
    ),
    (
        "a_claim_named_as_a_template",
        "resourceClaimTemplateName: one",
        "resourceClaimTemplateName: shared",
        [
            "49:11: error: Deployment serve spec.template.spec.resourceClaims[0].resourceClaimTemplateName: is no ResourceClaimTemplate; shared is a ResourceClaim; got: shared; allowed: one"
        ],
    ),
    (
        "a_template_of_the_stack_with_a_suffix",
        "resourceClaimTemplateName: one",
        "resourceClaimTemplateName: single-gpu",
        [
            "49:11: error: Deployment serve spec.template.spec.resourceClaims[0].resourceClaimTemplateName: is a template of the stack whose name gets a suffix with every change; got: single-gpu; allowed: one; fix: set claims.single-gpu.external: true in the stack file"
        ],
    ),
    (
        "replicas_that_share",
        "resourceClaimTemplateName: one",
        "resourceClaimName: shared",
        [
            "43:3: warning: Deployment serve spec.replicas: all 2 pods share the devices of the one claim shared, and run on the node that has them; got: 2; fix: use resourceClaimTemplateName to give each pod its own"
        ],
    ),
    (
        "too_many_that_share",
        "  replicas: 2\n  template:\n    spec:\n      nodeSelector: {example.com/pool: h100}\n      resourceClaims:\n        - name: own\n          resourceClaimTemplateName: one",
        "  replicas: 300\n  template:\n    spec:\n      resourceClaims:\n        - name: own\n          resourceClaimName: shared",
        [
            "43:3: error: Deployment serve spec.replicas: a claim serves at most 256 pods, this asks for 300 of claim shared; fix: use resourceClaimTemplateName"
        ],
    ),
    (
        "a_claim_that_the_pod_does_not_list",
        "              - name: own",
        "              - name: mine",
        [
            "48:11: warning: Deployment serve spec.template.spec.resourceClaims[0]: no container takes claim own: its devices are held and nobody sees them; fix: resources: {claims: [{name: own}]} in a container",
            "55:17: error: Deployment serve spec.template.spec.containers[0].resources.claims[0].name: must be one of the names in pod.spec.resourceClaims; got: mine; allowed: own; fix: list the claim under resourceClaims of the pod",
        ],
    ),
    (
        "an_unknown_request",
        "request: gpu",
        "request: gpus",
        [
            "56:17: error: Deployment serve spec.template.spec.containers[0].resources.claims[0].request: is no request of claim one; got: gpus; allowed: gpu; fix: did you mean gpu?"
        ],
    ),
    (
        "a_request_with_its_alternative",
        "request: gpu",
        "request: gpu/big",
        [
            "56:17: error: Deployment serve spec.template.spec.containers[0].resources.claims[0].request: must be a DNS label: lower-case letters, digits and '-', a letter or digit at both ends; got: gpu/big; fix: name the request alone: gpu"
        ],
    ),
    (
        "a_node_selector_of_no_pool",
        "example.com/pool: h100}",
        "example.com/pool: b200}",
        [
            "46:7: error: Deployment serve spec.template.spec.nodeSelector: selects no pool that has the devices it asks for; got: example.com/pool=b200; allowed: h100: example.com/pool=h100"
        ],
    ),
    (
        "a_node_selector_of_a_pool_without_such_devices",
        "example.com/pool: h100}",
        "example.com/pool: a100}",
        [
            "46:7: error: Deployment serve spec.template.spec.nodeSelector: selects no pool that has the devices it asks for; got: example.com/pool=a100; allowed: h100: example.com/pool=h100"
        ],
    ),
    (
        "a_label_that_no_pool_carries",
        "{example.com/pool: h100}",
        "{example.com/rack: r1}",
        [
            "46:7: warning: Deployment serve spec.template.spec.nodeSelector: asks for label example.com/rack, which no pool of the stack is known to carry; allowed: example.com/pool; fix: put the label on the pool, not on nodes by hand: a new node would lack it"
        ],
    ),
    (
        "a_limit_of_the_device_plugin",
        "            claims:",
        "            limits: {nvidia.com/mig-1g.5gb: 1}\n            claims:",
        [
            "54:22: error: Deployment serve spec.template.spec.containers[0].resources.limits.nvidia.com/mig-1g.5gb: asks a device plugin, and the pools of this stack publish their devices by DRA only: the pod would wait for ever; got: 1; allowed: nvidia.com/gpu; fix: use resources.claims with a claim of the pod"
        ],
    ),
    (
        "a_limit_besides_the_claim",
        "            claims:",
        "            limits: {nvidia.com/gpu: 1}\n            claims:",
        [
            "54:22: warning: Deployment serve spec.template.spec.containers[0].resources.limits.nvidia.com/gpu: makes a second claim, of class gpu.nvidia.com, besides the pod's own; got: 1; fix: remove it, or the pod's resourceClaims"
        ],
    ),
    (
        "a_node_by_name",
        "      nodeSelector: {example.com/pool: h100}",
        "      nodeName: h100-0",
        [
            "46:7: error: Deployment serve spec.template.spec.nodeName: goes past the scheduler, which alone allocates claims; the pod would never start; got: h100-0; fix: use nodeSelector instead"
        ],
    ),
    (
        "admin_access_unknown",
        "            count: 1",
        "            adminAccess: true",
        [
            "21:13: warning: ResourceClaimTemplate one spec.spec.devices.requests[0].exactly.adminAccess: is refused unless namespace (whichever it is applied to) carries the label resource.kubernetes.io/admin-access=true, which neither the stack nor the files tell; fix: check the Namespace together with this file"
        ],
    ),
    (
        "no_object",
        "apiVersion: apps/v1\n",
        "",
        [
            "38:1: error: is no Kubernetes object: apiVersion and kind are required; fix: give a chart's values with --values CHART@VERSION=FILE"
        ],
    ),
    (
        "no_yaml",
        "kind: Deployment",
        "kind: [Deployment",
        ["40:9: error: is no YAML: expected ',' or ']', but got ':'"],
    ),
    (
        "a_key_twice",
        "  replicas: 2",
        "  replicas: 2\n  replicas: 2",
        ["44:3: error: holds the key 'replicas' twice; fix: remove one of the two"],
    ),
]


def test_the_good_file_passes() -> None:
    assert findings(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "told"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_each_break_is_told(old: str, new: str, told: list[str]) -> None:
    assert old in GOOD
    assert findings(GOOD.replace(old, new, 1)) == told
