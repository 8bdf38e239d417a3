"""What drivers add to a stack file: strategies of sharing, and sections of their own.

Their models are asked for when the stack file's are built. Nothing here names a driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dra_fleet.settings.sharing import ExclusiveSharing

if TYPE_CHECKING:
    from dra_fleet.settings.base import SettingsModel


class NoDriverReads(LookupError):  # noqa: N818 - it says what is missing
    """No driver has a model for a section of the stack file; the message names it."""


def registered_drivers() -> Any:  # noqa: ANN401 - a room above, which settings do not import
    """The module by which drivers are found."""
    return import_module("dra_fleet.drivers")


def sharing_model() -> Any:  # noqa: ANN401 - the annotation of a field, made of what drivers offer
    """Whole devices or one of all drivers' strategies, told apart by `strategy`."""
    union: Any = ExclusiveSharing
    for driver in registered_drivers().known():
        for model in driver.strategies():
            union |= model
    return Annotated[union, Field(discriminator="strategy")]


def section_model(key: str) -> type[SettingsModel]:
    """The model of a section that a driver reads.

    Raises:
        NoDriverReads: No driver reads it.
    """
    for driver in registered_drivers().known():
        if key in driver.sections():
            return driver.sections()[key]
    raise NoDriverReads(f"no driver reads {key} of a stack file")
