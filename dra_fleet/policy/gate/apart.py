"""Runs custom rules in a process of the pack, so that the gate imports no code but dra-fleet's.

The gate asks that process twice: for a description of each rule, and, if no engine runs, for what the rules
find. `dra-fleet check` asks it about the objects of files. An answer that is missing, late or malformed is an
error, which proves nothing.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict

from dra_fleet.core.declared.resources import Resource, Stack
from dra_fleet.core.declared.values import Secret
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.places import top_folder
from dra_fleet.policy import pack
from dra_fleet.policy.asked_policies import AskedPolicies
from dra_fleet.policy.checking import Violation, accepted_by_all
from dra_fleet.policy.exemptions import read_exemptions
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.policy.gate.limits import end_session
from dra_fleet.policy.gate.record import Record
from dra_fleet.policy.gate.without_engine import found_by, resources_of
from dra_fleet.policy.rule import Level, Parameter, ResourceRule, Severity, StackRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dra_fleet.policy.rule import Finding, Rule

_Read = TypeVar("_Read")

OPTION: Final = "--answer"
"""Has the pack answer one question on stdin instead of serving an engine."""
_SECONDS: Final = 120
_TEXTS: Final = ("name", "description", "fix", "link", "severity", "standard")


def load(asked: AskedPolicies, project: AskedPolicies | None = None) -> pack.Policies:
    """Load custom rules as descriptions, and the exemptions.

    Args:
        asked: what the pipeline names.
        project: what the project names, if the pipeline requests it; the pipeline's own come first.

    Raises:
        GateError: The rules cannot be loaded, or their process gives no answer.
        ExemptionsError: The exemptions cannot be used.
    """
    pack.check_complete()
    if project is not None:
        project = AskedPolicies(
            rules=None if asked.rules else project.rules,
            exemptions=None if asked.exemptions else project.exemptions,
        )
        asked = asked.or_else(project)
    rules = pack.RULES
    if asked.rules is not None:
        answer = _ask(asked.rules, {"task": "describe"})
        rules = (*pack.RULES, *_understood(asked.rules, answer, _described))
    named = {rule.name for rule in rules}
    exemptions = () if asked.exemptions is None else read_exemptions(asked.exemptions, named)
    return pack.Policies(rules=rules, exemptions=exemptions, asked=asked, project=project)


def find_apart(
    record: Record, config: Mapping[str, Any], policies: pack.Policies
) -> dict[str, list[Violation]]:
    """Return what custom rules find in saved events, by rule.

    Raises:
        GateError: Their process gives no answer.
    """
    folder = policies.asked.rules
    if folder is None:
        return {}
    sent = {"stack": record.stack, "resources": record.resources, "outputs": record.outputs}
    answer = _ask(folder, {"task": "find", "record": sent, "config": config})

    def violation(rule: Rule, said: Mapping[str, Any]) -> Violation:
        return Violation(
            rule=rule,
            message=str(said["message"]),
            urn=str(said["urn"]),
            unjudged=said["unjudged"] is True,
            unknown=str(said["unknown"]),
            advice=said["advice"] is True,
        )

    def found(answer: Mapping[str, Any]) -> dict[str, list[Violation]]:
        return {
            rule.name: [violation(rule, said) for said in answer["found"][rule.name]] for rule in policies.own
        }

    return _understood(folder, answer, found)


class ObjectFinding(Struct, frozen=True, kw_only=True):
    """A custom rule's finding in an object of a file.

    Attributes:
        rule: the rule, as a description.
        urn: the object's key among those that were sent.
        path: the place at fault in the object.
    """

    rule: Rule
    urn: str
    path: tuple[str | int, ...]
    problem: str
    allowed: str
    fix: str


def find_in_objects(objects: Mapping[str, PlainObject], policies: pack.Policies) -> list[ObjectFinding]:
    """Return what custom rules find in Kubernetes objects, by the levels of the preset `standard`.

    Rules that need a resource's options find nothing: files have none.

    Args:
        objects: each by a key that findings repeat: its type and name, its properties, and which of its
            properties are secret.
        policies: the rules, as descriptions.

    Raises:
        GateError: The rules' process gives no answer.
    """
    folder = policies.asked.rules
    if folder is None:
        return []
    rules = {rule.name: rule for rule in policies.own}
    answer = _ask(folder, {"task": "check", "objects": objects})

    def found(answer: Mapping[str, Any]) -> list[ObjectFinding]:
        return [_object_finding(rules, objects, said) for said in answer["found"]]

    return _understood(folder, answer, found)


PlainObject = tuple[str, str, dict[str, Any], tuple[str, ...]]


def _object_finding(
    rules: Mapping[str, Rule], objects: Mapping[str, PlainObject], said: Mapping[str, Any]
) -> ObjectFinding:
    if said["urn"] not in objects:
        raise ValueError(f"a finding is about {said['urn']!r}, which is not among the objects")
    return ObjectFinding(
        rule=rules[said["rule"]],
        urn=said["urn"],
        path=tuple(said["path"]),
        problem=str(said["problem"]),
        allowed=str(said["allowed"]),
        fix=str(said["fix"]),
    )


def _understood(folder: Path, answer: Mapping[str, Any], read: Callable[[Mapping[str, Any]], _Read]) -> _Read:
    try:
        return read(answer)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise GateError(
            f"{folder}: the answer of the rules' process cannot be read "
            f"({type(problem).__name__}: {problem}); fix: correct the rules, see `dra-fleet rules test`"
        ) from None


def _ask(folder: Path, question: Mapping[str, object]) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory(prefix="dra-fleet-rules-") as here:
        process = subprocess.Popen(
            [sys.executable, "-I", "-u", str(top_folder("policies") / "__main__.py"), OPTION],
            cwd=here,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            text, _ = process.communicate(json.dumps({**question, "rules": str(folder)}), timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise GateError(
                f"{folder}: the rules' process gave no answer within {_SECONDS} s; "
                "fix: correct the rule that does not end"
            ) from None
        finally:
            end_session(process)
    answer = _read(text)
    if answer is None or process.returncode:
        raise GateError(
            f"{folder}: the rules' process ended without an answer (exit code {process.returncode}): "
            "a rule ended it; fix: correct the rules, see `dra-fleet rules test`"
        )
    if "error" in answer:
        raise GateError(str(answer["error"]))
    return answer


def _read(text: str) -> Mapping[str, Any] | None:
    try:
        answer: object = json.loads(text)
    except ValueError:
        return None
    return cast("Mapping[str, Any]", answer) if isinstance(answer, dict) else None


def _described(answer: Mapping[str, Any]) -> tuple[Rule, ...]:
    rules = tuple(_rule(said) for said in answer["rules"])
    if len({rule.name for rule in (*pack.RULES, *rules)}) != len(pack.RULES) + len(rules):
        raise ValueError("two rules have one name")
    return rules


def _rule(said: Mapping[str, Any]) -> Rule:
    levels, severities = get_args(Level), get_args(Severity)
    if (
        not all(isinstance(said[name], str) for name in _TEXTS)
        or said["severity"] not in severities
        or not {said["standard"], said["production"] or said["standard"]} <= {*levels}
    ):
        raise ValueError(f"the description of {said['name']!r} is malformed")
    common: dict[str, Any] = {
        **{name: said[name] for name in _TEXTS},
        "production": said["production"],
        "parameters": tuple(Parameter(**parameter) for parameter in said["parameters"]),
        "production_parameters": dict(said["production_parameters"]),
        "checked_at_update": said["checked_at_update"] is True,
        "needs_options": said["needs_options"] is True,
    }
    if said["on_stack"] is not True:
        return ResourceRule(**common, types=re.compile(""), check=_not_here)
    return StackRule(**common, check=_not_here, advises=_not_here if said["advises"] is True else None)


def _not_here(*_: object) -> NoReturn:
    raise GateError("a custom rule was about to run in the gate's own process")


def answer() -> NoReturn:
    """Answer the question on stdin, and end this process. Rules print to stderr."""
    faulthandler.cancel_dump_traceback_later()  # the gate has the limit, and names what hangs
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as said:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            text = json.dumps(_answered(json.load(sys.stdin)))
        except BaseException as problem:  # noqa: BLE001 - a rule may raise anything, and none of it passes
            text = json.dumps({"error": _why(problem)})
        said.write(text)
    os._exit(0)  # threads that rules started must not keep the gate waiting


def _answered(question: Mapping[str, Any]) -> dict[str, object]:
    policies = pack.load(AskedPolicies(rules=Path(question["rules"])))
    if question["task"] == "check":
        return {"found": list(_in_objects(policies.own, question["objects"]))}
    if question["task"] == "describe":
        return {"rules": [_description(rule) for rule in policies.own]}
    sent = question["record"]
    record = Record(stack=sent["stack"], resources=sent["resources"], outputs=sent["outputs"])
    found = found_by(policies.own, resources_of(record), question["config"], policies.rules)
    return {"found": {rule: [_plain(said) for said in listed] for rule, listed in found.items()}}


def _in_objects(
    rules: tuple[Rule, ...], objects: Mapping[str, PlainObject]
) -> Iterator[Mapping[str, object]]:
    resources = [_resource(urn, item) for urn, item in objects.items()]
    run = [rule for rule in rules if rule.level("standard") != "disabled" and not rule.needs_options]
    settings = accepted_by_all({rule.name: rule.settings({}) for rule in run})
    for rule in run:
        found: list[Finding] = []
        if isinstance(rule, StackRule):
            found += rule.check(Stack(resources=resources), settings[rule.name])
        elif isinstance(rule, ResourceRule):
            for resource in resources:
                if rule.types.fullmatch(resource.type) is not None:
                    found += rule.check(resource, settings[rule.name])
        for each in found:
            yield {
                "rule": rule.name,
                "urn": each.resource.urn,
                "path": each.value.path,
                "problem": each.problem,
                "allowed": each.allowed,
                "fix": each.fix,
            }


def _resource(urn: str, item: PlainObject) -> Resource:
    type_, name, value, hidden = item
    shown = {key: Secret(each) if key in hidden else each for key, each in value.items()}
    return Resource(type=type_, name=name, urn=urn, read=lambda: shown)


def _description(rule: Rule) -> dict[str, object]:
    return {
        **{name: getattr(rule, name) for name in _TEXTS},
        "production": rule.production,
        "parameters": [asdict(parameter) for parameter in rule.parameters],
        "production_parameters": rule.production_parameters,
        "checked_at_update": rule.checked_at_update,
        "needs_options": rule.needs_options,
        "on_stack": isinstance(rule, StackRule),
        "advises": isinstance(rule, StackRule) and rule.advises is not None,
    }


def _plain(said: Violation) -> dict[str, object]:
    return {
        "message": said.message,
        "urn": said.urn,
        "unjudged": said.unjudged,
        "unknown": said.unknown,
        "advice": said.advice,
    }


def _why(problem: BaseException) -> str:
    if isinstance(problem, ExpectedError):
        return str(problem)
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"a custom rule failed: {type(problem).__name__} at {frame.filename}:{frame.lineno}"
