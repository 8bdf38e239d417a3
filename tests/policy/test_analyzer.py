from collections.abc import Mapping
from typing import Any, cast

import grpc
import pytest
from google.protobuf import empty_pb2, json_format
from google.protobuf.struct_pb2 import Struct
from msgspec.structs import replace
from pulumi.runtime.proto import analyzer_pb2

from dra_fleet.clouds.gke import TRIPLE
from dra_fleet.core.declared.resources import Resource, Stack
from dra_fleet.core.declared.values import Missing, Secret
from dra_fleet.core.findings.engine_events import SECRET, SIGNATURE
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.policy import pack
from dra_fleet.policy.analyzer import Analyzer
from dra_fleet.policy.decoding import decode, encode
from policies.rules import cluster, device_class, pool

FLOOR = cluster.REQUIRE_MINIMUM_KUBERNETES
CANARY = "s3cr3t-canary"
RELEASE = "kubernetes:helm.sh/v3:Release"
POOL = "gcp:container/nodePool:NodePool"
DRIVER: dict[str, object] = {"chart": "nvidia-dra-driver-gpu", "version": "25.8.1"}


class Aborted(Exception):  # noqa: N818 - what the engine would be reported
    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class Context:
    def abort(self, code: grpc.StatusCode, text: str) -> None:
        raise Aborted(code, text)


CONTEXT = cast("grpc.ServicerContext", Context())


def analyzer(*rules: Any) -> Analyzer:
    return Analyzer(name=pack.NAME, version=pack.VERSION, rules=rules or pack.RULES, unjudged=pack.UNJUDGED)


def request(kind: str, properties: Mapping[str, object], name: str = "n") -> analyzer_pb2.AnalyzeRequest:
    urn = f"urn:pulumi:dev::other::{kind}::{name}"
    return analyzer_pb2.AnalyzeRequest(urn=urn, type=kind, name=name, properties=encode(properties))


def configure(served: Analyzer, **config: Mapping[str, object]) -> None:
    sent = analyzer_pb2.ConfigureAnalyzerRequest()
    for name, given in config.items():
        rule = name.replace("_", "-")
        level = str(given.get("enforcementLevel", "mandatory")).upper()
        sent.policyConfig[rule].enforcementLevel = analyzer_pb2.EnforcementLevel.Value(level)
        parameters = {key: value for key, value in given.items() if key != "enforcementLevel"}
        properties = Struct()
        json_format.ParseDict(parameters, properties)
        sent.policyConfig[rule].properties.CopyFrom(properties)
    served.Configure(sent, CONTEXT)


def output(served: Analyzer, kind: str, properties: Mapping[str, object]) -> list[tuple[str, str]]:
    levels = analyzer_pb2.EnforcementLevel
    found = asked_together(served, request(kind, properties))
    return [(one.policyName, levels.Name(one.enforcementLevel)) for one in found]


def test_the_engine_gets_every_rule_with_its_parameters() -> None:
    info = analyzer().GetAnalyzerInfo(empty_pb2.Empty(), CONTEXT)
    assert [policy.name for policy in info.policies] == [rule.name for rule in pack.RULES]
    for policy, rule in zip(info.policies, pack.RULES, strict=True):
        assert sorted(policy.configSchema.properties) == sorted(one.name for one in rule.all_parameters)
        assert policy.remediation_steps == rule.fix


def test_a_rule_checks_at_the_level_that_the_policy_config_gives() -> None:
    old: dict[str, object] = {"kubernetes": "1.33"}
    kind = "dra-fleet:clouds:ExistingCluster"
    for level in ("ADVISORY", "MANDATORY"):
        served = analyzer()
        configure(served, cluster_require_minimum_kubernetes={"enforcementLevel": level})
        assert (FLOOR.name, level) in output(served, kind, old)
    served = analyzer()
    configure(served, cluster_require_minimum_kubernetes={"enforcementLevel": "DISABLED"})
    assert FLOOR.name not in dict(output(served, kind, old))


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"no_such_rule": {}}, "the policy config names the rule 'no-such-rule'; allowed: "),
        (
            {"cluster_require_minimum_kubernetes": {"flor": 1}},
            f"the policy config of {FLOOR.name} has flor; allowed: acceptUnknown",
        ),
    ],
)
def test_a_wrong_policy_config_stops_the_run(config: Mapping[str, Any], text: str) -> None:
    with pytest.raises(Aborted) as stopped:
        configure(analyzer(), **config)
    assert stopped.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert str(stopped.value).startswith(text)


def test_a_rule_that_breaks_stops_the_run_without_showing_what_it_read() -> None:
    def broken(stack: Stack, settings: object) -> Any:
        del settings
        raise ValueError(stack.resources[0].get("token").peek)

    rule = replace(FLOOR, check=broken)
    with pytest.raises(Aborted) as stopped:
        output(analyzer(rule), "dra-fleet:clouds:ExistingCluster", {"token": Secret(CANARY)})
    assert stopped.value.code is grpc.StatusCode.INTERNAL
    assert str(stopped.value).startswith(
        "a rule of the policy pack dra-fleet broke: ValueError at test_analyzer.py:"
    )
    assert CANARY not in str(stopped.value)


def test_a_part_that_a_cloud_or_driver_lacks_is_named_to_the_engine() -> None:
    def asks(stack: Stack, settings: object) -> Any:
        del stack, settings
        raise ExpectedError("cloud meadow has no resources: write meadow_cloud/resources.py with RESOURCES")

    with pytest.raises(Aborted) as stopped:
        output(analyzer(replace(FLOOR, check=asks)), "dra-fleet:clouds:ExistingCluster", {})
    assert str(stopped.value) == (
        "the policy pack dra-fleet cannot check: cloud meadow has no resources: "
        "write meadow_cloud/resources.py with RESOURCES"
    )


def corrected(served: Analyzer, kind: str, properties: Mapping[str, object]) -> list[Any]:
    answer = served.Remediate(request(kind, properties), CONTEXT)
    return [(found.policyName, decode(found.properties)) for found in answer.remediations]


def test_nothing_is_corrected_unless_the_policy_config_says_so() -> None:
    assert corrected(analyzer(), RELEASE, DRIVER) == []
    assert [rule.name for rule in pack.RULES if "remediate" in (rule.standard, rule.production)] == []


def test_a_rule_corrects_only_resources_of_its_types() -> None:
    def remedy(resource: Resource, settings: object) -> dict[str, object]:
        del resource, settings
        return {"corrected": True}

    rule = replace(pool.REQUIRE_DRA_LABELS, remedy=remedy)
    served = analyzer(rule)
    configure(served, pool_require_dra_labels={"enforcementLevel": "REMEDIATE"})
    assert corrected(served, POOL, {}) == [(rule.name, {"corrected": True})]
    assert corrected(served, RELEASE, {}) == []


def test_a_missing_toleration_is_added_to_those_that_are_there() -> None:
    served = analyzer()
    configure(served, driver_require_gpu_toleration={"enforcementLevel": "REMEDIATE"})
    own = {"key": "sku", "operator": "Exists"}
    added = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    values = {"kubeletPlugin": {"tolerations": [own], "priorityClassName": ""}, "nvidiaDriverRoot": "/"}
    ((rule, properties),) = corrected(served, RELEASE, {**DRIVER, "values": values})
    assert rule == "driver-require-gpu-toleration"
    assert properties == {
        **DRIVER,
        "values": {
            "kubeletPlugin": {
                "tolerations": [own, added],
                "priorityClassName": "",
            },
            "nvidiaDriverRoot": "/",
        },
    }
    assert corrected(served, RELEASE, properties) == []
    assert dict(output(served, RELEASE, properties)).get(rule) is None


def test_the_labels_that_a_pool_lacks_are_added_and_everything_else_stays() -> None:
    served = analyzer()
    configure(served, pool_require_dra_labels={"enforcementLevel": "REMEDIATE"})
    properties: dict[str, object] = {
        "cluster": Missing.UNKNOWN,
        "nodeConfig": {"labels": {TRIPLE[0]: "true", "team": "a"}, "metadata": {"key": Secret(CANARY)}},
    }
    ((rule, found),) = corrected(served, POOL, properties)
    assert rule == "pool-require-dra-labels"
    assert found["cluster"] is Missing.UNKNOWN
    assert found["nodeConfig"]["labels"] == {**dict.fromkeys(TRIPLE, "true"), "team": "a"}
    assert found["nodeConfig"]["metadata"] == {"key": Secret(CANARY)}
    assert corrected(served, POOL, found) == []


def test_a_pool_without_any_of_the_labels_is_not_made_a_pool_for_dra() -> None:
    served = analyzer()
    configure(served, pool_require_dra_labels={"enforcementLevel": "REMEDIATE"})
    assert corrected(served, POOL, {"nodeConfig": {"labels": {"team": "a"}}}) == []


def test_uncorrectable_findings_are_mandatory() -> None:
    served = analyzer()
    configure(served, pool_require_dra_labels={"enforcementLevel": "REMEDIATE"})
    properties: dict[str, object] = {"nodeConfig": {"labels": {TRIPLE[0]: "false", TRIPLE[2]: "true"}}}
    ((_, found),) = corrected(served, POOL, properties)
    assert output(served, POOL, found) == [("pool-require-dra-labels", "MANDATORY")]


def test_secrets_cross_the_wire_as_secrets() -> None:
    sent = encode({"token": Secret(CANARY), "list": [Secret(Missing.UNKNOWN)]})
    assert json_format.MessageToDict(sent)["token"] == {SIGNATURE: SECRET, "value": CANARY}
    assert decode(sent) == {"token": Secret(CANARY), "list": [Secret(Missing.UNKNOWN)]}


def test_rules_on_the_stack_see_resources_in_the_order_of_registration() -> None:
    seen: list[str] = []

    def note(stack: Stack, settings: object) -> tuple[()]:
        del settings
        seen.extend(resource.name for resource in stack.resources)
        return ()

    served = analyzer(replace(device_class.FORBID_WHOLE_GPUS, check=note))
    sent = [request(POOL, {}, name) for name in ("c", "a", "b")]
    for one in sent:
        served.Analyze(one, CONTEXT)
    together = [
        analyzer_pb2.AnalyzerResource(urn=one.urn, type=one.type, name=one.name) for one in reversed(sent)
    ]
    served.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(resources=together), CONTEXT)
    assert seen == ["c", "a", "b"]


CLUSTER = "dra-fleet:clouds:ExistingCluster"
UNKNOWN_VERSION: dict[str, object] = {"kubernetes": Missing.UNKNOWN}


def asked_together(served: Analyzer, sent: analyzer_pb2.AnalyzeRequest | None = None) -> list[Any]:
    """Return the findings of a resource, alone and in its stack, by default for an unknown version."""
    sent = sent or request(CLUSTER, UNKNOWN_VERSION, "train")
    alone = served.Analyze(sent, CONTEXT)
    together = analyzer_pb2.AnalyzerResource(
        urn=sent.urn, type=sent.type, name=sent.name, properties=sent.properties
    )
    stack = served.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(resources=[together]), CONTEXT)
    return [*alone.diagnostics, *stack.diagnostics]


def test_one_unknown_value_is_one_finding_whichever_rules_read_it() -> None:
    (found,) = asked_together(analyzer())
    assert found.policyName == FLOOR.name
    assert found.message.startswith(f"train ({CLUSTER}): kubernetes is unknown at preview; allowed: ")
    assert found.enforcementLevel == analyzer_pb2.MANDATORY


@pytest.mark.parametrize("rule", ["cluster_require_minimum_kubernetes", "unknown_report_unjudged"])
def test_an_unknown_value_accepted_for_one_rule_is_accepted_for_all(rule: str) -> None:
    served = analyzer()
    configure(served, **{rule: {"acceptUnknown": ["train/kubernetes"]}})
    (found,) = asked_together(served)
    assert found.policyName == pack.UNJUDGED.name
    assert "kubernetes is unknown at preview; accepted by name" in found.message


def test_the_rule_that_stops_most_reports_an_unknown_value() -> None:
    served = analyzer()
    configure(served, cluster_require_minimum_kubernetes={"enforcementLevel": "ADVISORY"})
    (found,) = [one for one in asked_together(served) if one.enforcementLevel == analyzer_pb2.MANDATORY]
    assert found.policyName == cluster.REQUIRE_SAFE_PATCH.name


def test_precomputed_results_of_a_stack_rule_change_no_answer_even_if_it_fails() -> None:
    seen: list[str] = []

    def prepare(resource: Resource) -> None:
        seen.append(resource.name)
        assert resource.get("metadata").unknown
        raise RuntimeError("broken")

    rule = replace(device_class.FORBID_WHOLE_GPUS, prepare=prepare)
    served = analyzer(rule)
    sent = request("kubernetes:resource.k8s.io/v1:DeviceClass", {"metadata": Missing.UNKNOWN, "spec": {}})
    assert list(served.Analyze(sent, CONTEXT).diagnostics) == []
    assert asked_together(served, sent) == asked_together(analyzer(device_class.FORBID_WHOLE_GPUS), sent)
    assert seen[:1] == ["n"]
