"""The pack: every rule listed, named by the grammar, mandatory, and about types that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi_policy import EnforcementLevel, PolicyResourceOptions, ResourceValidationArgs
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from components.platforms import PLATFORMS, resolve
from policies.pack import RULES
from policies.resource_view import Missing, ResourceView
from policies.rules import cluster_require_minimum_kubernetes as floor

TOKENS = {
    "pulumi_azure_native/containerservice/managed_cluster.py": "azure-native:containerservice:ManagedCluster",
    "pulumi_azure_native/containerservice/agent_pool.py": "azure-native:containerservice:AgentPool",
    "pulumi_gcp/container/cluster.py": "gcp:container/cluster:Cluster",
    "pulumi_gcp/container/node_pool.py": "gcp:container/nodePool:NodePool",
    "pulumi_aws/eks/cluster.py": "aws:eks/cluster:Cluster",
    "pulumi_aws/eks/node_group.py": "aws:eks/nodeGroup:NodeGroup",
    "pulumi_alicloud/cs/managed_kubernetes.py": "alicloud:cs/managedKubernetes:ManagedKubernetes",
    "pulumi_alicloud/cs/serverless_kubernetes.py": "alicloud:cs/serverlessKubernetes:ServerlessKubernetes",
    "pulumi_alicloud/cs/edge_kubernetes.py": "alicloud:cs/edgeKubernetes:EdgeKubernetes",
    "pulumi_alicloud/cs/kubernetes.py": "alicloud:cs/kubernetes:Kubernetes",
}
"""Where each SDK writes the token of a type that the floor judges."""

RULES_FOLDER = Path(floor.__file__).parent


def view(**properties: Any) -> ResourceView:
    return ResourceView(resource_type="t", name="n", properties=unknown_checking_proxy(properties))


def test_every_file_of_rules_is_listed() -> None:
    files = {path.stem for path in RULES_FOLDER.glob("*.py")} - {"__init__"}
    assert {rule.name.replace("-", "_") for rule in RULES} == files
    for file in files:
        assert importlib.import_module(f"policies.rules.{file}").RULE in RULES


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_why_and_how_to_fix_it(rule: Any) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+){2,}", rule.name)
    policy = rule.policy()
    assert policy.enforcement_level is EnforcementLevel.MANDATORY
    assert policy.description.endswith(".")
    assert policy.remediation_steps


def test_the_floor_judges_every_platform_of_this_program() -> None:
    for cloud in PLATFORMS:
        assert any(field.types.fullmatch(resolve(cloud).TOKEN) for field in floor.FIELDS), cloud


@pytest.mark.parametrize(("file", "token"), TOKENS.items())
def test_the_tokens_judged_are_the_sdks_own(file: str, token: str) -> None:
    source = (Path(pulumi.__file__).parents[1] / file).read_text(encoding="utf-8")
    assert f"'{token}'" in source
    assert any(field.types.fullmatch(token) for field in floor.FIELDS)


def test_a_view_tells_unknown_from_absent() -> None:
    resource = view(
        known="x", unknown=UNKNOWN_STRING_VALUE, null=None, nested={"items": [1, UNKNOWN_STRING_VALUE]}
    )
    assert resource.get("known") == "x"
    assert resource.get("unknown") is Missing.UNKNOWN
    assert resource.get("unknown", "deeper") is Missing.UNKNOWN
    assert resource.get("null") is Missing.ABSENT
    assert resource.get("nowhere", "deeper") is Missing.ABSENT
    assert resource.get("known", "deeper") is Missing.ABSENT
    assert resource.get("nested", "items", 1) is Missing.UNKNOWN
    assert resource.get("nested", "items", 9) is Missing.ABSENT


def test_the_policy_reports_through_the_sdk() -> None:
    options = PolicyResourceOptions(
        protect=False,
        ignore_changes=[],
        delete_before_replace=None,
        aliases=[],
        custom_timeouts=None,  # type: ignore[arg-type]
        additional_secret_outputs=[],
    )
    args = ResourceValidationArgs(
        resource_type="aws:eks/cluster:Cluster",
        props=unknown_checking_proxy({"version": UNKNOWN_STRING_VALUE}),
        urn="urn",
        name="c",
        opts=options,
        provider=None,
    )
    reported: list[str] = []

    def report(message: str, _urn: str | None) -> None:
        reported.append(message)

    policy: Any = floor.RULE.policy()
    policy.validate(args, report)
    assert len(reported) == 1
