"""Programs of the rules on credentials in outputs and providers."""

import base64
from typing import Any

from dra_fleet.core.declared.values import Secret
from dra_fleet.policy.rule_cases import UNKNOWN, Break, Declared, said
from policies.rules.credentials import FIX
from policies.rules.credentials import PROVIDER_EXEC_CREDENTIALS_ALLOWED as ALLOWED
from tests.policies.rules._building import breaking, passes

OUTPUT_CREDENTIALS_ALLOWED = "credentials marked secret, or none at all"
CLEAR = "users:\n- name: admin\n  user:\n    token: s3cr3t-canary\n"

OUTPUT_CREDENTIALS_EXEC = """
apiVersion: v1
users:
- name: admin
  user:
    exec:
      command: aws
      args: [eks, get-token, --cluster-name, train, --token-cache-dir, /home/me]
      env: [{name: AWS_PROFILE, value: train}]
"""
IN_BASE64 = base64.b64encode(OUTPUT_CREDENTIALS_EXEC.encode()).decode()

GOOD: dict[str, Any] = {
    "by-secret": {"cloud": "existing", "pools": {"cpu": {"machine": "cpu-16"}}},
    "kubeconfig": OUTPUT_CREDENTIALS_EXEC,
    "kubeconfigs": {"train": IN_BASE64, "serve": Secret(CLEAR), "later": Secret(UNKNOWN)},
    "clusters": {"train": {"kubeconfig": Secret(UNKNOWN), "endpoint": UNKNOWN}},
    "endpoint": UNKNOWN,
    "config": "users:\n- name: admin\n  user:\n    exec: {command: kubelogin}\n",
    "max_tokens": 4096,
    "contextTokens": "8192",
    "tokenizer": "meta-llama/Llama-3.1-8B",
    "tokenUrl": "https://login.example/oauth2/token",
    "secretName": "registry",
    "secretArn": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:db-AbCdEf",
    "imagePullSecrets": ["registry", "mirror-1a2b3c4"],
    "database": "postgres://app:${PASSWORD}@db.example/app",
    "login": "az aks get-credentials --resource-group gpu --name train",
    "dbCredentials": {"username": "app", "host": "db.example", "password": Secret("s3cr3t-canary")},
    "certificate": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
}
ROOT = Declared(type="pulumi:pulumi:Stack", name="other-dev", outputs=GOOD)
OUTPUT_CREDENTIALS_FIX = 'export("{}", pulumi.Output.secret(…)), or give credentials by an exec plugin'


def exported(name: str, value: object, problem: str, place: str = "") -> Break:
    return Break(
        resource="other-dev",
        options={"outputs": {**GOOD, name: value}},
        messages=(
            said(
                ROOT,
                f"{place or name} {problem}",
                OUTPUT_CREDENTIALS_ALLOWED,
                OUTPUT_CREDENTIALS_FIX.format(name),
            ),
        ),
    )


def holds(what: str) -> str:
    return f"is exported in clear and holds a credential ({what})"


def with_users(user: str) -> str:
    return f"apiVersion: v1\nusers:\n- name: admin\n  user:\n    {user}\n"


NAMED = "is exported in clear under a credential's name"
JSON = '{"users": [{"user": {"token": "s3cr3t-canary"}}]}'
SIGNED = "https://account.blob.core.windows.net/models?sv=2025-01-05&sig=s3cr3t%2Bcanary%3D"
ACCOUNT = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c3IzY3IzdGNhbmFyeWNhbmFyeQ==;"
VARIABLE = "exec: {command: a, env: [{name: AWS_SECRET_ACCESS_KEY, value: s3cr3tcanarys3cr3tcanary}]}"

OUTPUT_FORBID_CREDENTIALS = (
    passes(
        (ROOT,),
        exported("kubeconfig", CLEAR, holds("token")),
        exported("kubeconfig", base64.b64encode(CLEAR.encode()).decode(), holds("token")),
        exported("kubeconfig", with_users("exec: {args: [--token, s3cr3t-canary]}"), holds("token")),
        exported("kubeconfig", with_users("exec: {args: [--token=s3cr3t-canary]}"), holds("token")),
        exported("kubeconfig", with_users(VARIABLE), holds("AWS_SECRET_ACCESS_KEY")),
        exported("adminPassword", UNKNOWN, NAMED),
        exported("adminPassword", "s3cr3t-canary", holds("adminPassword")),
        exported(
            "apiTokens",
            {"one": Secret("a"), "two": "s3cr3t-canary"},
            holds("apiTokens"),
            place="apiTokens.two",
        ),
        exported("config", CLEAR, holds("token")),
        exported("config", JSON, holds("token")),
        exported(
            "config",
            {"users": ["-----BEGIN RSA PRIVATE KEY-----"]},
            holds("a private key"),
            "config.users[0]",
        ),
        exported("ci", "ghp_" + "s3cr3tcanary" * 3, holds("a GitHub token")),
        exported("ci", "github_pat_" + "s3cr3tcanary" * 3, holds("a GitHub token")),
        exported("uploader", "AKIAIOSFODNN7EXAMPLE", holds("an AWS access key")),
        exported("models", SIGNED, holds("a signed URL or a token in one")),
        exported("storage", ACCOUNT, holds("an Azure account key")),
        exported("database", "postgres://app:s3cr3t-canary@db/app", holds("a password in a URL")),
        exported("login", "kubectl --token s3cr3t-canary get pods", holds("token")),
    ),
)


PROVIDER_EXEC_CREDENTIALS_EXEC = "users:\n- name: me\n  user:\n    exec: {command: kubelogin}\n"
PROVIDER = Declared(
    type="pulumi:providers:kubernetes", name="p", properties={"kubeconfig": PROVIDER_EXEC_CREDENTIALS_EXEC}
)
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
    return breaking("p", ("kubeconfig",), text, said(PROVIDER, f"kubeconfig {problem}", ALLOWED, FIX))


PROVIDER_REQUIRE_EXEC_CREDENTIALS = (
    passes(
        (PROVIDER,),
        refused("users:\n- name: me\n  user: {token: s3cr3t-canary}\n", "holds a credential (token)"),
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
    passes((FILE,)),
    passes((PLACES,)),
)

CASES = {
    "output-forbid-credentials": OUTPUT_FORBID_CREDENTIALS,
    "provider-require-exec-credentials": PROVIDER_REQUIRE_EXEC_CREDENTIALS,
}
