"""The programs of output-forbid-credentials."""

from __future__ import annotations

from typing import Any

from dra_fleet.declared.values import Secret
from policies.rules.output_forbid_credentials import RULE
from tests.policy.rule_cases import UNKNOWN, Break, Declared, RuleCase, said

ALLOWED = "credentials marked secret, or none at all"
CLEAR = "users:\n- name: admin\n  user:\n    token: s3cr3t-canary\n"

GOOD: dict[str, Any] = {
    "kubeconfig": Secret(CLEAR),
    "clusters": {"train": {"kubeconfig": Secret(UNKNOWN), "endpoint": UNKNOWN}},
    "endpoint": UNKNOWN,
    "config": "users:\n- name: admin\n  user:\n    exec: {command: kubelogin}\n",
}
ROOT = Declared(type="pulumi:pulumi:Stack", name="other-dev", outputs=GOOD)
FIX = 'export("{}", pulumi.Output.secret(…)), or give credentials by an exec plugin'


def exported(name: str, value: object, problem: str) -> Break:
    return Break(
        resource="other-dev",
        options={"outputs": {**GOOD, name: value}},
        messages=(said(ROOT, f"{name} {problem}", ALLOWED, FIX.format(name)),),
    )


NAMED = "is exported in clear under a credential's name"
HOLDS = "is exported in clear and holds a credential"

CASES = (
    RuleCase(
        rule=RULE,
        passing=(ROOT,),
        breaks=(
            exported("kubeconfig", CLEAR, NAMED),
            exported("kubeconfig", UNKNOWN, NAMED),
            exported("adminPassword", "s3cr3t-canary", NAMED),
            exported("apiTokens", {"one": Secret("a"), "two": "s3cr3t-canary"}, NAMED),
            exported("config", CLEAR, HOLDS),
            exported("config", '{"users": [{"user": {"token": "s3cr3t-canary"}}]}', HOLDS),
            exported("config", {"users": ["-----BEGIN RSA PRIVATE KEY-----"]}, HOLDS),
        ),
    ),
)
