"""What the limits of every simulated account have in common."""

from __future__ import annotations

from dra_fleet.rehearsal.world.node import HardwareModel


class AccountLimits(HardwareModel):
    """Whose the rehearsal's login is: the account of this name alone, or, without it, any that is asked for.

    What an account is called there differs: AWS and Alibaba Cloud have accounts, Azure has subscriptions,
    Google Cloud has projects.
    """

    login: str | None = None

    def reaches(self, account: str) -> bool:
        """Whether the login is that account's."""
        return self.login in (None, account)
