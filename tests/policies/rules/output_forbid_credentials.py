"""The programs of output-forbid-credentials."""

from __future__ import annotations

import base64
from typing import Any

from dra_fleet.core.declared.values import Secret
from dra_fleet.policy.rule_cases import UNKNOWN, Break, Declared, RuleCase, said

ALLOWED = "credentials marked secret, or none at all"
CLEAR = "users:\n- name: admin\n  user:\n    token: s3cr3t-canary\n"

EXEC = """
apiVersion: v1
users:
- name: admin
  user:
    exec:
      command: aws
      args: [eks, get-token, --cluster-name, train, --token-cache-dir, /home/me]
      env: [{name: AWS_PROFILE, value: train}]
"""
IN_BASE64 = base64.b64encode(EXEC.encode()).decode()

GOOD: dict[str, Any] = {
    "by-secret": {"cloud": "existing", "pools": {"cpu": {"machine": "cpu-16"}}},
    "kubeconfig": EXEC,
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
FIX = 'export("{}", pulumi.Output.secret(…)), or give credentials by an exec plugin'


def exported(name: str, value: object, problem: str, place: str = "") -> Break:
    return Break(
        resource="other-dev",
        options={"outputs": {**GOOD, name: value}},
        messages=(said(ROOT, f"{place or name} {problem}", ALLOWED, FIX.format(name)),),
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

CASES = (
    RuleCase(
        passing=(ROOT,),
        breaks=(
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
    ),
)
