# ruff: noqa: E501 - YAML is written as in files

"""Systems that were published: what their recipes get wrong is reported, and their corrected forms pass.

The recipes of the vGPU, MIG, size and ACK systems are files: test_published_recipes.py.
"""

from tests.check.check_helpers import cluster, on
from tests.check.tables import Case, table

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


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()


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
