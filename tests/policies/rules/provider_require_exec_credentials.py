"""The programs of provider-require-exec-credentials."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said
from policies.rules.provider_require_exec_credentials import ALLOWED, FIX

EXEC = "users:\n- name: me\n  user:\n    exec: {command: kubelogin}\n"
PROVIDER = Declared(type="pulumi:providers:kubernetes", name="p", properties={"kubeconfig": EXEC})
FILE = Declared(
    type="pulumi:providers:kubernetes", name="p", properties={"kubeconfig": "/home/me/.kube/config"}
)
PLACES = Declared(
    type="pulumi:providers:kubernetes",
    name="p",
    properties={"kubeconfig": "${KUBECONFIG:-~/.kube/config}:/etc/kube/config"},
)


def refused(text: str, problem: str) -> Break:
    # Unknown is listed only: nearly every kubeconfig is an output of a cluster of the same program.
    return Break(
        resource="p",
        path=("kubeconfig",),
        value=text,
        messages=(said(PROVIDER, f"kubeconfig {problem}", ALLOWED, FIX),),
    )


CASES = (
    RuleCase(
        passing=(PROVIDER,),
        breaks=(
            refused(
                "users:\n- name: me\n  user: {token: s3cr3t-canary}\n",
                "holds a credential (token)",
            ),
            refused(
                '{"users": [{"user": {"client-key-data": "czNjcjN0", "password": "s3cr3t-canary"}}]}',
                "holds a credential (client-key-data, password)",
            ),
            refused("users: [{user: {token: s3cr3t-canary}}]", "holds a credential (token)"),
            refused(
                "users:\n- name: me\n  user:\n    exec: {command: a, args: [--password, s3cr3t-canary]}\n",
                "holds a credential (password)",
            ),
            refused(
                "users: [{user: {exec: {command: a, env: [{name: API_TOKEN, value: s3cr3t-canary}]}}}]",
                "holds a credential (API_TOKEN)",
            ),
            refused("users: [\n- [\n", "is not a readable kubeconfig"),
        ),
    ),
    RuleCase(passing=(FILE,), breaks=()),
    RuleCase(passing=(PLACES,), breaks=()),
)
