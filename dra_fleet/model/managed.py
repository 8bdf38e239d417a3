"""DRA drivers that a provider runs itself on the nodes of pools that request them."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from dra_fleet.core.facts import Entry
from dra_fleet.model.hardware import DESCRIBED, Machine


class ManagedDriver(Entry):
    """A DRA driver that a provider installs and updates in its own build.

    Attributes:
        driver: Its name in stack files.
        by: The provider.
        key: The pool setting that requests it.
        version: The chart version that publishes the same; None if no public source names one.
        values: The chart values that correspond to how the provider runs it.
        gpus: The GPU models whose machines it serves; empty for all that the driver serves.
        fabric: Text that the `fabric` of its machines contains.
        api_version: The oldest API version of the provider that has the pool setting; "" if it needs none.
    """

    driver: str
    by: str
    key: Literal["advertise", "dranet"]
    version: str | None = None
    values: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    gpus: tuple[str, ...] = ()
    fabric: str = ""
    api_version: str = ""

    @property
    def setting(self) -> str:
        """Return the pool setting that requests it, as written in a stack file."""
        return "advertise: managed" if self.key == "advertise" else f"{self.key}: true"

    def is_requested_by(self, pool: object) -> bool:
        """Return whether the settings of a pool request it."""
        return getattr(pool, self.key, None) == ("managed" if self.key == "advertise" else True)

    def serves(self, machine: Machine) -> bool:
        """Return whether the provider offers it on a machine; a described machine may have any fabric."""
        may_have = machine.source == DESCRIBED or self.fabric in (machine.fabric or "")
        return may_have and (not self.gpus or machine.gpu in self.gpus)

    @property
    def text(self) -> str:
        """Return a sentence that names the provider and the version."""
        if self.version is None:
            return f"driver {self.driver} is managed by {self.by}; its version is not published"
        return f"driver {self.driver} {self.version} is managed by {self.by}"
