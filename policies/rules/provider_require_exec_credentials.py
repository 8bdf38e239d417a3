"""Kubernetes providers take kubeconfigs that hold no credential: an exec plugin gets one when it is needed.

A token, password or client key in a provider's kubeconfig is written into state, encrypted, and lives as long
as the state does; so is one in the arguments or the environment of an exec plugin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.core.declared.credentials import credentials
from dra_fleet.core.declared.values import Value
from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

ALWAYS: Final = ("client-key-data", "auth-provider")
"""Keys of users that are credentials whatever they hold."""
ALLOWED: Final = "users with exec, or a path to a kubeconfig file"
FIX: Final = (
    "get credentials by an exec plugin such as kubelogin, gke-gcloud-auth-plugin or aws eks get-token"
)


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find kubeconfigs that hold a credential."""
    del settings
    kubeconfig = resource.get("kubeconfig")
    text = kubeconfig.text
    if text is None:
        return  # absent, or noted as unknown
    users = _users(text)
    if users is None:
        if "\n" not in text.strip():
            return  # paths, as in KUBECONFIG
        yield Finding(resource, kubeconfig, "is not a readable kubeconfig", ALLOWED, FIX)
        return
    found = sorted({reported for user in users for reported in _credentials_of(user)})
    if found:
        yield Finding(resource, kubeconfig, f"holds a credential ({', '.join(found)})", ALLOWED, FIX)


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


RULE = ResourceRule(
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
    check=check,
)
