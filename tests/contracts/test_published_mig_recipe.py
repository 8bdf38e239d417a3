"""The published recipe for MIG with DRA on AKS, as printed: its pods of "1g" get whole GPUs.

Source: https://blog.aks.azure.com/2026/03/03/multi-instance-gpu-with-dra-on-aks. The GPU Operator gets
`mig.strategy: single`, no node has a layout, and the class selects every device of the driver. The proof,
`check`, the gate and the review each report it.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet.check import ManifestFile, ValuesFile, check
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.policy.rule_cases import Declared
from dra_fleet.proof.prove import prove
from dra_fleet.review.assemble import Known, fleet_of, make_review
from policies.rules.device_class import FORBID_WHOLE_GPUS as RULE
from tests.policy.every_rule import check_all
from tests.review.samples import as_it_was, preview

RECIPE = Path("tests/data/recipes/s2")
MANIFESTS = list(yaml.safe_load_all((RECIPE / "published.yaml").read_text("utf-8")))


def fleet(environment: str, **labels: str) -> dict[str, Any]:
    """The recipe as settings of a stack file, with labels on its pool."""
    device_class, template, job = MANIFESTS
    pod = job["spec"]["template"]["spec"]
    requests = {
        item["name"]: {"class": item["exactly"]["deviceClassName"], "count": item["exactly"]["count"]}
        for item in template["spec"]["spec"]["devices"]["requests"]
    }
    return {
        "owner": "ml-platform",
        "environment": environment,
        "kubernetes": "1.35",
        "clusters": {
            "mnist": {
                "cloud": "aks",
                "subscription": "00000000-0000-0000-0000-000000000000",
                "region": "eastus",
                "create": {"resourceGroup": "mig"},
                "access": {"authorizedRanges": ["203.0.113.0/24"]},
                "gpuOperator": {
                    "version": "v25.10.0",
                    "values": yaml.safe_load((RECIPE / "published-operator-values.yaml").read_text("utf-8")),
                },
                "drivers": {"nvidia": {"version": "25.8.1"}},
                "pools": {
                    "mig": {
                        "machine": "Standard_ND96amsr_A100_v4",
                        "nodes": {"min": 1, "max": 1},
                        "gpuDriver": "operator",
                        "taints": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}],
                        **({"labels": labels} if labels else {}),
                    }
                },
            }
        },
        "classes": {
            device_class["metadata"]["name"]: {
                "cel": [item["cel"]["expression"] for item in device_class["spec"]["selectors"]]
            }
        },
        "claims": {template["metadata"]["name"]: {"requests": requests}},
        "workloads": {
            "mnist": {
                "cluster": "mnist",
                "claim": template["metadata"]["name"],
                "copies": 7,
                "image": pod["containers"][0]["image"],
                "accept": {"order": "as published"},
            }
        },
    }


TRAP = "mig-gpu-1g is named for partitions, but selects whole devices: 8 per node of pool mig"


@pytest.mark.parametrize("labels", [{}, {"nvidia.com/mig.config": "all-disabled"}])
def test_prove_reports_that_claims_for_partitions_get_whole_gpus(labels: dict[str, str]) -> None:
    [warning] = prove(make_plan(parse(fleet("development", **labels)))).warnings
    [failure] = prove(make_plan(parse(fleet("production", **labels)))).failures
    for text in (warning, failure):
        assert TRAP in text
        assert "mig.strategy of an operator divides nothing" in text


def test_check_reports_the_class_and_the_strategy_that_makes_no_partitions() -> None:
    operator = ValuesFile(
        chart="gpu-operator",
        version="v25.10.0",
        name="operator.yaml",
        data=(RECIPE / "published-operator-values.yaml").read_bytes(),
    )
    manifest = ManifestFile(name="recipe.yaml", data=(RECIPE / "published.yaml").read_bytes())
    settings = fleet("production")
    for key in ("classes", "claims", "workloads"):
        del settings[key]
    found = check(make_plan(parse(settings)), [manifest], [operator]).findings
    errors = [(item.file, item.rule) for item in found if item.severity == "error"]
    assert ("recipe.yaml", "class-too-wide") in errors
    assert any(item.what.startswith("makes no MIG partitions") for item in found)


def test_the_gate_rejects_the_class_in_any_program() -> None:
    types = {
        "DeviceClass": "kubernetes:resource.k8s.io/v1:DeviceClass",
        "ResourceClaimTemplate": "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
    }
    objects = [
        Declared(type=types[item["kind"]], name=item["metadata"]["name"], properties=item)
        for item in MANIFESTS
        if item["kind"] in types
    ]
    pool = Declared(
        type="azure-native:containerservice:AgentPool",
        name="mig",
        properties={"vmSize": "Standard_ND96amsr_A100_v4", "gpuProfile": {"driver": "None"}},
    )
    program = [item.resource() for item in (*objects, pool)]
    found = check_all([RULE], program, {RULE.name: RULE.settings({})})
    assert [item.urn.rpartition("::")[2] for item in found if not item.advice] == ["nvidia-mig"]
    assert "select whole GPUs" in found[0].message


def test_the_review_reports_that_claims_for_partitions_get_whole_gpus() -> None:
    for environment, severity in (("development", "medium"), ("production", "critical")):
        settings = fleet(environment)
        known = Known(
            stack="mig", preview=preview("first"), fleet=fleet_of(settings), was=as_it_was(), running=None
        )
        found = [item for item in make_review(known).findings if TRAP in item.message]
        assert [(item.source, item.severity) for item in found] == [("proof", severity)]
