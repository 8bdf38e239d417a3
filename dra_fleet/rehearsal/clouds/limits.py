"""What the limits of every simulated account have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dra_fleet.rehearsal.world.node import HardwareModel


class AccountLimits(HardwareModel):
    """Whose the rehearsal's login is, and what the account lacks that `dra-fleet doctor` asks for.

    `login`: the account of this name alone, or, without it, any that is asked for. What an account is called
    differs: AWS and Alibaba Cloud have accounts, Azure has subscriptions, Google Cloud has projects.
    `notOffered` are machine types that the account cannot have, or not in one zone: `TYPE` or `TYPE/ZONE`.
    `reservations` are machines by `TYPE` or `TYPE/ZONE`, of reservations by name or id. `denied` are actions
    that the login may not do.
    """

    login: str | None = None
    not_offered: tuple[str, ...] = ()
    reservations: dict[str, dict[str, Annotated[int, Field(ge=0)]]] = Field(default_factory=dict)
    denied: tuple[str, ...] = ()

    def is_offered(self, machine: str, zone: str) -> bool:
        """Whether the account can have a machine type in a zone."""
        return not {machine, f"{machine}/{zone}"} & set(self.not_offered)

    def reaches(self, account: str) -> bool:
        """Whether the login is that account's."""
        return self.login in (None, account)
