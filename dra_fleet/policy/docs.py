"""The page of all rules, docs/rules.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from dra_fleet.policy import pack

if TYPE_CHECKING:
    from dra_fleet.policy.rule import Parameter, Rule

_INTRODUCTION: Final = """\
# Rules of the policy pack

Made by `make generate` from `policies/rules/`. For the gate itself, see [gate.md](gate.md).
Levels are those of the presets `standard` and `production`. In the preset `advisory`, no rule stops a run.
Every rule also takes `acceptUnknown`: values that may stay unknown at preview, each as
`<resource name>/<property path>`. A value that one rule accepts is accepted by all.
"""


def page() -> str:
    """Return the page of all rules, Markdown."""
    rows = [f"| [{rule.name}](#{rule.name}) | {levels(rule)} | {rule.severity} |" for rule in pack.RULES]
    table = "\n".join(["| Rule | Level | Severity |", "|---|---|---|", *rows])
    return "\n".join([_INTRODUCTION, table, "", *(section(rule) for rule in pack.RULES)])


def section(rule: Rule) -> str:
    """Return the description of a rule, Markdown."""
    lines = [
        f"## {rule.name}",
        "",
        rule.description,
        "",
        f"- Level: {levels(rule)}. Severity: {rule.severity}.",
        f"- Fix: {rule.fix}",
        f"- More: <{rule.link}>",
        *(f"- Parameter {_parameter(parameter)}" for parameter in rule.parameters),
    ]
    if rule.remedy is not None:
        lines.append("- Corrects what it finds where the policy config sets its level to `remediate`.")
    if rule.checked_at_update:
        lines.append("- What is unknown at preview is listed, and checked by the engine before it is made.")
    if rule.needs_options:
        lines.append("- Needs the engine: saved events do not have the resource options that it reads.")
    return "\n".join([*lines, ""])


def levels(rule: Rule) -> str:
    """Return the levels of a rule in `standard` and, if it differs, in `production`."""
    standard, production = rule.level("standard"), rule.level("production")
    return standard if standard == production else f"{standard}, in production {production}"


def _parameter(parameter: Parameter) -> str:
    default = parameter.default
    shown = json.dumps(list(default) if isinstance(default, tuple) else default)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f"`{parameter.name}` (default `{shown}`): {parameter.description}"
