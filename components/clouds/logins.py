"""The logins that a program works with: nothing is made before all are those that the stack names.

Clouds differ in whom they ask. AWS and Alibaba Cloud report whose a login is; Azure and Google Cloud let a
login into many subscriptions and projects, so that the one which is named is read with it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn, TypeVar

import pulumi

from dra_fleet.core.findings.errors import SettingsError, under

from .adopting import words

if TYPE_CHECKING:
    from collections.abc import Callable

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
