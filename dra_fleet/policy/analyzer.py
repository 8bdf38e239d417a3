"""The pack as the engine speaks to it: one policy per rule by name, each resource read once for all of them.

It serves the engine's analyzer protocol itself, because the policy SDK decodes a resource again for every
policy and turns a mandatory rule that meets an unknown value into a note that stops nothing.
Protocol: https://github.com/pulumi/pulumi/blob/master/proto/pulumi/analyzer.proto
"""

from __future__ import annotations

import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import grpc
from google.protobuf import empty_pb2, json_format
from msgspec.structs import replace
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

from dra_fleet.core.declared.resources import Provider, Resource, Stack
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.policy import asked_policies, checking, pack
from dra_fleet.policy.decoding import decode, encode
from dra_fleet.policy.exemptions import exemption_of, today
from dra_fleet.policy.reading.contents import may_contain
from dra_fleet.policy.rule import ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dra_fleet.policy.checking import Violation
    from dra_fleet.policy.exemptions import Exemption
    from dra_fleet.policy.rule import Level, Rule, Settings

    Read = Callable[[], Mapping[str, object]]


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
    """Return the description of a rule: level, parameters and texts."""
    kind = (
        analyzer_pb2.POLICY_TYPE_STACK if isinstance(rule, StackRule) else analyzer_pb2.POLICY_TYPE_RESOURCE
    )
    reported = analyzer_pb2.PolicyInfo(
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
        reported.configSchema.properties.update({parameter.name: schema})
    return reported


def reading(sent: analyzer_pb2.AnalyzeRequest | analyzer_pb2.AnalyzerResource) -> Read:
    """Return the inputs of a resource, decoded at first use."""
    return cache(partial(decode, sent.properties))


def resource_of(sent: analyzer_pb2.AnalyzeRequest | analyzer_pb2.AnalyzerResource, read: Read) -> Resource:
    """Build a resource with these inputs."""
    provider = None
    if sent.HasField("provider"):
        by = sent.provider
        provider = Provider(type=by.type, name=by.name, urn=by.urn, read=lambda: decode(by.properties))
    options = sent.options
    return Resource(
        type=sent.type,
        name=sent.name,
        urn=sent.urn,
        protect=options.protect,
        delete_before_replace=options.deleteBeforeReplace if options.deleteBeforeReplaceDefined else None,
        ignore_changes=tuple(options.ignoreChanges),
        parent=options.parent,
        provider=provider,
        read=read,
    )


_ALL: Final = "all"

_NAMES: Final[Mapping[int, Level]] = {number: level for level, number in LEVELS.items()}


class Analyzer(analyzer_pb2_grpc.AnalyzerServicer):
    """Checks the resources that the engine sends."""

    def __init__(
        self,
        *,
        name: str,
        version: str,
        rules: Sequence[Rule],
        unjudged: Rule,
        asked: asked_policies.AskedPolicies = asked_policies.NOTHING,
        of_project: bool = False,
    ) -> None:
        """Serve rules.

        Args:
            name: of the pack.
            version: of the pack.
            rules: all rules.
            unjudged: the rule under whose name unknown values are reported that stop nothing.
            asked: custom rules and exemptions.
            of_project: load also the rules and exemptions that a stack's configuration names.
        """
        self._name = name
        self._version = version
        self._unjudged = unjudged
        self._asked = asked
        self._of_project = of_project
        self._exemptions: Sequence[Exemption] = ()
        self._take(rules)
        self._for_type: dict[str, list[ResourceRule]] = {}
        self._read: dict[str, Read] = {}
        """Inputs of each resource, decoded once for all its rules and for the stack's."""
        self._ahead = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead")
        self._reported: dict[str, dict[str, int]] = {}
        """Reported unknown values of each resource, with the number of rules that they stop."""

    def _take(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._levels: dict[str, Level] = {rule.name: rule.standard for rule in rules}
        self._settings: dict[str, Settings] = {rule.name: rule.settings({}) for rule in rules}
        self._info = analyzer_pb2.AnalyzerInfo(
            name=self._name,
            version=self._version,
            supportsConfig=True,
            policies=[info(rule) for rule in rules],
        )

    def Analyze(  # noqa: N802 - the protocol's name
        self, request: analyzer_pb2.AnalyzeRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.AnalyzeResponse:
        """Check one resource's inputs."""
        read = self._read[request.urn] = reading(request)
        self._reported.pop(request.urn, None)
        rules = self._checking(request.type)
        answer = analyzer_pb2.AnalyzeResponse()
        if rules:
            resource = resource_of(request, read)
            answer = self._answer(
                context,
                (
                    lambda rule=rule: checking.check_resource(rule, resource, self._settings[rule.name])
                    for rule in rules
                ),
            )
        # What a rule meets here, a fault too, it meets again when the stack is checked.
        self._ahead.submit(checking.prepare, self._rules, resource_of(request, read))
        return answer

    def AnalyzeStack(  # noqa: N802 - the protocol's name
        self, request: analyzer_pb2.AnalyzeStackRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.AnalyzeResponse:
        """Check all resources together: their inputs as analysed before, and their outputs.

        `pulumi policy analyze` and a program's run both send each resource's inputs first; a resource of
        which only outputs are known, such as one outside the targets of a targeted run, is checked by these.
        The engine sends them in any order; rules see them in the order of registration.
        """
        self._ahead.submit(int).result()  # after all that was worked out for the stack's resources
        rules = [rule for rule in self._rules if self._runs(rule)]
        order = {urn: number for number, urn in enumerate(self._read)}
        sent = sorted(request.resources, key=lambda found: (order.get(found.urn, len(order)), found.urn))
        stack = Stack(resources=[self._with_outputs(resource) for resource in sent])
        return self._answer(
            context,
            (
                lambda rule=rule: checking.check_whole(rule, stack, self._settings[rule.name])
                for rule in rules
            ),
        )

    def Remediate(  # noqa: N802 - the protocol's name
        self, request: analyzer_pb2.AnalyzeRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.RemediateResponse:
        """Correct one resource's inputs by the rules at level `remediate`."""
        response = analyzer_pb2.RemediateResponse()
        read = reading(request)
        for rule in self._rules:
            if self._levels[rule.name] != "remediate" or rule.remedy is None:
                continue
            if isinstance(rule, ResourceRule) and rule.types.fullmatch(request.type) is None:
                continue
            exempted = exemption_of(self._exemptions, rule.name, request.urn)
            if exempted is not None and exempted.holds(today()):
                continue
            resource = resource_of(request, read)
            try:
                corrected = rule.remedy(resource, self._settings[rule.name])
            except BaseException as problem:  # noqa: BLE001 - whatever it is, it stops the run
                self._broken(context, problem)
            if corrected is not None:
                properties = encode(corrected)
                read = partial(decode, properties)
                response.remediations.append(
                    analyzer_pb2.Remediation(
                        policyName=rule.name,
                        policyPackName=self._name,
                        policyPackVersion=self._version,
                        description=rule.description,
                        properties=properties,
                    )
                )
        return response

    def GetAnalyzerInfo(  # noqa: N802 - the protocol's name
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> analyzer_pb2.AnalyzerInfo:
        """Every rule with its level, parameters and texts."""
        del request, context
        return self._info

    def GetPluginInfo(  # noqa: N802 - the protocol's name
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """Return the version."""
        del request, context
        return plugin_pb2.PluginInfo(version=self._version)

    def Configure(  # noqa: N802 - the protocol's name
        self, request: analyzer_pb2.ConfigureAnalyzerRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        """Take the policy config; a rule or a parameter that does not exist is an error."""
        rules = {rule.name: rule for rule in self._rules}
        for name, config in request.policyConfig.items():
            rule = rules.get(name)
            if name == _ALL:  # the engine has applied its level, and passes it on
                continue
            if rule is None:
                _refuse(context, f"the policy config names the rule {name!r}; allowed: {', '.join(rules)}")
            given = cast("dict[str, object]", json_format.MessageToDict(config.properties))
            try:
                self._settings[name] = rule.settings(given)
            except ValueError as problem:
                _refuse(context, str(problem))
            self._levels[name] = _NAMES[config.enforcementLevel]
        self._settings = checking.accepted_by_all(self._settings)
        self._for_type.clear()
        return empty_pb2.Empty()

    def ConfigureStack(  # noqa: N802 - the protocol's name
        self, request: analyzer_pb2.AnalyzerStackConfigureRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.AnalyzerStackConfigureResponse:
        """Load custom rules and exemptions; without them nothing runs.

        The engine calls this before anything else, and runs the pack where it runs the program.
        """
        try:
            asked = self._asked
            if self._of_project:
                text = request.config.get(asked_policies.KEY, "")
                asked = asked.or_else(asked_policies.asked_by_config(text, Path.cwd()))
            if asked.paths:
                policies = pack.load(asked)
                self._exemptions = policies.exemptions
                self._take(policies.rules)
        except ExpectedError as problem:
            _refuse(context, f"the policies of this stack cannot be used: {problem}")
        except BaseException as problem:  # noqa: BLE001 - whatever it is, it stops the run
            self._broken(context, problem)
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def Cancel(  # noqa: N802 - the protocol's name
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        """Nothing outlives a request."""
        del request, context
        return empty_pb2.Empty()

    def _runs(self, rule: Rule) -> bool:
        return self._levels[rule.name] != "disabled"

    def _checking(self, resource_type: str) -> list[ResourceRule]:
        found = self._for_type.get(resource_type)
        if found is None:
            found = self._for_type[resource_type] = [
                rule
                for rule in self._rules
                if isinstance(rule, ResourceRule)
                and self._runs(rule)
                and (rule.types.fullmatch(resource_type) or may_contain(resource_type))
            ]
        return found

    def _with_outputs(self, sent: analyzer_pb2.AnalyzerResource) -> Resource:
        resource = resource_of(sent, self._read.get(sent.urn) or reading(sent))
        resource.parent = sent.parent
        resource.dependencies = tuple(sent.dependencies)
        resource.read_outputs = lambda: decode(sent.properties)
        return resource

    def _answer(
        self, context: grpc.ServicerContext, judgements: Iterable[Callable[[], list[Violation]]]
    ) -> analyzer_pb2.AnalyzeResponse:
        violations: list[Violation] = []
        for check in judgements:
            try:
                violations += check()
            except BaseException as problem:  # noqa: BLE001 - whatever it is, it stops the run
                self._broken(context, problem)
        violations = checking.with_exemptions(violations, self._exemptions, today())
        merged = checking.merge_unknowns(violations, self._levels)
        diagnostics = [self._diagnostic(violation) for violation in merged if self._is_new(violation)]
        return analyzer_pb2.AnalyzeResponse(diagnostics=diagnostics)

    def _is_new(self, violation: Violation) -> bool:
        """Record an unknown value; return False if a rule that stops at least as much already reported it."""
        reported = self._reported.setdefault(violation.urn, {})
        weight = checking.weight(violation, self._levels)
        new = not violation.unknown or reported.get(violation.unknown, -1) < weight
        if new:
            reported[violation.unknown] = weight
        return new

    def _diagnostic(self, violation: Violation) -> analyzer_pb2.AnalyzeDiagnostic:
        if violation.unjudged:
            violation = replace(violation, rule=self._unjudged)
        rule = violation.rule
        return analyzer_pb2.AnalyzeDiagnostic(
            policyName=rule.name,
            policyPackName=self._name,
            policyPackVersion=self._version,
            description=rule.description,
            message=violation.message,
            urn=violation.urn,
            severity=SEVERITIES[violation.severity],
            enforcementLevel=LEVELS[violation.level(self._levels)],
        )

    def _broken(self, context: grpc.ServicerContext, problem: BaseException) -> NoReturn:
        """Stop the run: a rule that cannot check must not pass. The problem's own text may hold a secret."""
        frames = traceback.extract_tb(problem.__traceback__)
        where = " < ".join(
            f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in reversed(frames)
        )
        text = f"a rule of the policy pack {self._name} broke: {type(problem).__name__} at {where}"
        if isinstance(problem, ExpectedError):
            text = f"the policy pack {self._name} cannot check: {problem}"
        sys.stderr.write(f"{text}\n")
        context.abort(grpc.StatusCode.INTERNAL, text)
        raise RuntimeError(text)  # abort itself raises


def _refuse(context: grpc.ServicerContext, text: str) -> NoReturn:
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
    raise ValueError(text)  # abort itself raises
