"""What a stack exports shows no credential in clear.

State, previews and every stack that refers to this one carry exported values; only a value marked secret is
encrypted there. A value that is not known yet is judged by its name and its mark alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Stack
    from dra_fleet.declared.values import Value
    from dra_fleet.policy.rule import Settings

ROOT = re.compile(r"pulumi:pulumi:Stack")
NAMES = re.compile(r"(?i)kube_?-?config|token|passw|credential|secret|private_?-?key")
TEXTS = re.compile(
    r"client-key-data|-----BEGIN [A-Z ]*PRIVATE KEY-----|(?m:^\s*-?\s*(?:token|password):\s*\S)"
    r'|"(?:token|password)"\s*:\s*"'
)
ALLOWED = "credentials marked secret, or none at all"


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find exported values that are named like or look like credentials and are not secret."""
    del settings
    for root in stack.of(ROOT):
        for name, output in root.outputs.entries:
            problem = _problem(name, output)
            if problem is not None:
                fix = f'export("{name}", pulumi.Output.secret(…)), or give credentials by an exec plugin'
                yield Finding(root, output, problem, ALLOWED, fix)


def _problem(name: str, output: Value) -> str | None:
    if NAMES.search(name) and not _all_secret(output):
        return "is exported in clear under a credential's name"
    for value in output.leaves():
        if not value.secret and isinstance(value.peek, str) and TEXTS.search(value.peek):
            return "is exported in clear and holds a credential"
    return None


def _all_secret(output: Value) -> bool:
    return all(value.secret for value in output.leaves())


RULE = StackRule(
    name="output-forbid-credentials",
    description=(
        "Exported values that are credentials are marked secret, "
        "because state and other stacks hold every other value in clear."
    ),
    fix="Mark the exported value secret, or export a kubeconfig whose credentials come from an exec plugin.",
    link="https://www.pulumi.com/docs/iac/concepts/secrets/",
    severity="critical",
    judge=judge,
)
