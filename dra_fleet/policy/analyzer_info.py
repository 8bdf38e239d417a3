"""What the engine is told of a rule, in its protocol's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pulumi.runtime.proto import analyzer_pb2

from dra_fleet.policy.rule import StackRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.policy.rule import Level, Rule

LEVELS: Final[Mapping[Level, analyzer_pb2.EnforcementLevel.ValueType]] = {
    "disabled": analyzer_pb2.DISABLED,
    "advisory": analyzer_pb2.ADVISORY,
    "mandatory": analyzer_pb2.MANDATORY,
    "remediate": analyzer_pb2.REMEDIATE,
}
SEVERITIES: Final[Mapping[str, analyzer_pb2.PolicySeverity.ValueType]] = {
    "low": analyzer_pb2.POLICY_SEVERITY_LOW,
    "medium": analyzer_pb2.POLICY_SEVERITY_MEDIUM,
    "high": analyzer_pb2.POLICY_SEVERITY_HIGH,
    "critical": analyzer_pb2.POLICY_SEVERITY_CRITICAL,
}


def info(rule: Rule) -> analyzer_pb2.PolicyInfo:
    """A rule's level, parameters and texts."""
    kind = (
        analyzer_pb2.POLICY_TYPE_STACK if isinstance(rule, StackRule) else analyzer_pb2.POLICY_TYPE_RESOURCE
    )
    told = analyzer_pb2.PolicyInfo(
        name=rule.name,
        description=rule.description,
        enforcementLevel=LEVELS[rule.standard],
        policy_type=kind,
        severity=SEVERITIES[rule.severity],
        remediation_steps=rule.fix,
        url=rule.link,
    )
    for parameter in rule.all_parameters:
        default = parameter.default
        schema: dict[str, Any] = {
            **parameter.schema,
            "description": parameter.description,
            "default": list(cast("tuple[str, ...]", default)) if isinstance(default, tuple) else default,
        }
        told.configSchema.properties.update({parameter.name: schema})
    return told
