"""How the devices of a pool are shared: whole, or by a strategy that a driver offers."""

from typing import Literal, Protocol

from dra_fleet.model.base import SettingsModel


class Sharing(Protocol):
    """The settings of a strategy, which a driver's own model reads."""

    @property
    def strategy(self) -> str:
        """The strategy's name."""
        ...


class ExclusiveSharing(SettingsModel):
    """Whole GPUs, one claim each."""

    strategy: Literal["exclusive"] = "exclusive"
