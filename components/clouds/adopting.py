"""A cluster that a stack adopts: what its cloud reports it, or one error that says which cluster it is."""

from __future__ import annotations

import re
from typing import NoReturn, TypeVar

import pulumi

from dra_fleet.core.findings.errors import SettingsError, under

T = TypeVar("T")

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
