"""Rules on credentials in outputs and providers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.core.declared.credentials import credentials
from dra_fleet.core.declared.values import Value
from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.policy.rule import Finding, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.rule import Settings


# State, previews and every stack that refers to this one carry exported values; only a value marked secret
# is encrypted there. Values are checked by what they hold: a kubeconfig whose users get their credentials
# from an exec plugin holds none. One that is not known yet is checked at the update; anything else that is
# not known is checked by its name and its mark alone.

ROOT = re.compile(r"pulumi:pulumi:Stack")
KUBECONFIG = re.compile(r"(?i).*kube_?-?configs?(_?-?(raw|json|yaml|base64|b64|value))?")
OUTPUT_CREDENTIALS_ALLOWED = "credentials marked secret, or none at all"


def _output_forbid_credentials(stack: Stack, _settings: Settings) -> Iterator[Finding]:
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
                yield Finding(root, found.at, problem, OUTPUT_CREDENTIALS_ALLOWED, fix)


def _note_kubeconfigs(output: Value, name: str) -> None:
    """Note kubeconfigs that are neither known nor secret: what they hold is not reported yet."""
    for value in output.leaves():
        names = [step for step in value.path if isinstance(step, str)] or [name]
        if not value.secret and any(map(KUBECONFIG.fullmatch, names)):
            _ = value.unknown


OUTPUT_FORBID_CREDENTIALS = StackRule(
    name="output-forbid-credentials",
    description=(
        "Exported values with credentials are secret, because the state and other stacks contain all "
        "other values in clear text."
    ),
    fix="Mark the exported value secret, or export a kubeconfig whose credentials come from an exec plugin.",
    link="https://www.pulumi.com/docs/iac/concepts/secrets/",
    severity="critical",
    checked_at_update=True,
    check=_output_forbid_credentials,
)


# A token, password or client key in a provider's kubeconfig is written into state, encrypted, and lives as
# long as the state does; so is one in the arguments or the environment of an exec plugin.

ALWAYS: Final = ("client-key-data", "auth-provider")
"""Keys of users that are credentials whatever they hold."""
PROVIDER_EXEC_CREDENTIALS_ALLOWED: Final = "users with exec, or a path to a kubeconfig file"
FIX: Final = (
    "get credentials by an exec plugin such as kubelogin, gke-gcloud-auth-plugin or aws eks get-token"
)


def _provider_require_exec_credentials(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    kubeconfig = resource.get("kubeconfig")
    text = kubeconfig.text
    if text is None:
        return  # absent, or noted as unknown
    users = _users(text)
    if users is None:
        if "\n" not in text.strip():
            return  # paths, as in KUBECONFIG
        yield Finding(
            resource, kubeconfig, "is not a readable kubeconfig", PROVIDER_EXEC_CREDENTIALS_ALLOWED, FIX
        )
        return
    found = sorted({reported for user in users for reported in _credentials_of(user)})
    if found:
        yield Finding(
            resource,
            kubeconfig,
            f"holds a credential ({', '.join(found)})",
            PROVIDER_EXEC_CREDENTIALS_ALLOWED,
            FIX,
        )


def _credentials_of(user: Mapping[str, Any]) -> Iterator[str]:
    yield from (key for key in ALWAYS if user.get(key))
    rest = {key: value for key, value in user.items() if key not in ALWAYS}
    yield from (found.what for found in credentials(Value(rest, (), {}), "user"))


def _users(text: str) -> list[Mapping[str, Any]] | None:
    """Return the users of a kubeconfig; None if the text is not a kubeconfig."""
    try:
        read = next((each.value for each in read_documents("", text.encode())), None)
    except (Unreadable, UnicodeError):
        return None
    if not isinstance(read, Mapping):
        return None
    entries: object = cast("Mapping[str, object]", read).get("users") or []
    if not isinstance(entries, list):
        return None
    found: list[Mapping[str, Any]] = []
    for entry in cast("list[object]", entries):
        user = cast("Mapping[str, object]", entry).get("user") if isinstance(entry, Mapping) else None
        if isinstance(user, Mapping):
            found.append(cast("Mapping[str, Any]", user))
    return found


PROVIDER_REQUIRE_EXEC_CREDENTIALS = ResourceRule(
    name="provider-require-exec-credentials",
    description=(
        "Kubernetes providers use kubeconfigs without credentials, because the state keeps everything "
        "that a kubeconfig contains."
    ),
    fix="Use a kubeconfig whose users get their credentials from an exec plugin.",
    link="https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins",
    severity="high",
    checked_at_update=True,
    types=re.compile(r"pulumi:providers:kubernetes"),
    check=_provider_require_exec_credentials,
)

RULES = (OUTPUT_FORBID_CREDENTIALS, PROVIDER_REQUIRE_EXEC_CREDENTIALS)
