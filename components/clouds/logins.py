"""Logins of a program, kubeconfigs without secrets, and the clusters that a stack adopts.

Clouds differ in whom they ask. AWS and Alibaba Cloud report whose a login is; Azure and Google Cloud let a
login into many subscriptions and projects, so that the one which is named is read with it.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, NoReturn, TypeVar

import pulumi

from dra_fleet.core.findings.errors import SettingsError, under

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


T = TypeVar("T")


class Logins:
    """All that is asked about the logins of one program. Closed once every cluster has asked."""

    def __init__(self) -> None:
        self._asked: list[pulumi.Output[str]] = []
        self._closed = asyncio.Event()
        self._known: pulumi.Output[list[pulumi.Resource]] | None = None

    def ask(self, account: pulumi.Output[str]) -> None:
        """Add an answer, which fails where the login is another's."""
        self._asked.append(account)

    def close(self) -> None:
        """Accept no further question."""
        self._closed.set()

    def known(self) -> pulumi.Output[list[pulumi.Resource]]:
        """Something to depend on that holds no resource, and is there once all logins are the right ones."""
        if self._known is None:
            self._known = pulumi.Output.from_input(self._wait())
        return self._known

    async def _wait(self) -> list[pulumi.Resource]:
        await self._closed.wait()
        for account in self._asked:
            await account.future()
        return []


def of_account(
    asked: pulumi.Output[T], of: Callable[[T], str], cluster: str, key: str, account: str, *, known_as: str
) -> pulumi.Output[str]:
    """Return the account of a login; end the program if it is not the named one.

    Args:
        asked: the question to the cloud.
        of: the account in its answer.
        cluster: the cluster's name in the stack file.
        key: the key there that names the account.
        account: the named account.
        known_as: the cloud's name for it, such as "AWS account".
    """

    def refuse(got: str) -> NoReturn:
        error = SettingsError(
            path=under("clusters", cluster, key),
            what=f"names {known_as} {account}, which is not the login's",
            got=got,
            fix=f"log in to that {known_as}, or name the one that the cluster is meant for",
        )
        raise pulumi.RunError(str(error))

    def checked(answer: T) -> str:
        found = of(answer)
        return found if found == account else refuse(found)

    return asked.recover(lambda refused: refuse(words(refused))).apply(checked)


_ENVELOPE = re.compile(r"^invoke of \S+ failed: (?:invocation of \S+ returned an error: )?")
"""Texts of SDK and engine before a cloud's own message."""


def readable(
    found: pulumi.Output[T], cluster: str, *, known_as: str, listing: str, permission: str
) -> pulumi.Output[T]:
    """Return the cloud's answer, or raise an error that the user can fix if the cloud refused.

    Otherwise the refusal would end the program as an unexpected exception with a traceback.

    Args:
        found: the answer to a function of the cloud that was called for one cluster.
        cluster: the cluster's name in the stack file.
        known_as: kind, name and place of the cluster in its cloud.
        listing: the command that lists the existing clusters.
        permission: the permission that a login needs to get the answer.
    """

    def refuse(refused: Exception) -> NoReturn:
        error = SettingsError(
            path=under("clusters", cluster, "adopt"),
            what=f"{known_as} cannot be read",
            got=words(refused),
            allowed="a cluster that is there and that your login may read",
            fix=f"look for it with `{listing}`; if it is there, ask for {permission}",
        )
        raise pulumi.RunError(str(error)) from refused

    return found.recover(refuse)


def words(refused: Exception) -> str:
    """Return the cloud's own message of a refusal."""
    return " ".join(_ENVELOPE.sub("", str(refused)).split())


def kubeconfig_with(login: Mapping[str, object], cluster: str, entry: Mapping[str, str]) -> str:
    """Return a kubeconfig that runs a command for each token.

    Args:
        login: the command and its arguments, as `exec` of a user.
        cluster: the cluster's name in the stack.
        entry: its address, and its authority unless that is public.
    """
    called = {"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": "Never", **login}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": entry}],
            "users": [{"name": cluster, "user": {"exec": called}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        },
        sort_keys=True,
    )
