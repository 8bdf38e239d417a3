"""The outputs of a stack show no credential in clear.

State, previews and every stack that refers to this one carry exported values; only a value marked secret is
encrypted there. Values are checked by what they hold: a kubeconfig whose users get their credentials from an
exec plugin holds none. One that is not known yet is checked at the update; anything else that is not known is
checked by its name and its mark alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dra_fleet.core.declared.credentials import credentials
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.rule import Settings

ROOT = re.compile(r"pulumi:pulumi:Stack")
KUBECONFIG = re.compile(r"(?i).*kube_?-?configs?(_?-?(raw|json|yaml|base64|b64|value))?")
ALLOWED = "credentials marked secret, or none at all"


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find exported values that hold or are named like credentials and are not secret."""
    del settings
    for root in stack.of(ROOT):
        for name, output in root.outputs.entries:
            _note_kubeconfigs(output, name)
            found = next(credentials(output, name), None)
            if found is not None:
                problem = (
                    "is exported in clear under a credential's name"
                    if found.named
                    else f"is exported in clear and holds a credential ({found.what})"
                )
                fix = f'export("{name}", pulumi.Output.secret(…)), or give credentials by an exec plugin'
                yield Finding(root, found.at, problem, ALLOWED, fix)


def _note_kubeconfigs(output: Value, name: str) -> None:
    """Note kubeconfigs that are neither known nor secret: what they hold is not reported yet."""
    for value in output.leaves():
        names = [step for step in value.path if isinstance(step, str)] or [name]
        if not value.secret and any(map(KUBECONFIG.fullmatch, names)):
            _ = value.unknown


RULE = StackRule(
    name="output-forbid-credentials",
    description=(
        "Exported values with credentials are secret, because the state and other stacks contain all "
        "other values in clear text."
    ),
    fix="Mark the exported value secret, or export a kubeconfig whose credentials come from an exec plugin.",
    link="https://www.pulumi.com/docs/iac/concepts/secrets/",
    severity="critical",
    checked_at_update=True,
    check=check,
)
