"""How a DRA driver's parts are found: its facts, what it says of resources, and its modules."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.drivers.resources import NOTHING
from dra_fleet.drivers.value import DriverValue
from dra_fleet.facts.parts import data, part
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from dra_fleet.drivers.common.facts import DriverFacts
    from dra_fleet.drivers.resources import DriverResources
    from dra_fleet.drivers.value import Part

_OWN: Final = "dra_fleet.drivers."


@dataclass(frozen=True, eq=False, kw_only=True)
class DriverParts(DriverValue):
    """A driver's value, and the folder that holds the rest of it."""

    @property
    def facts(self) -> DriverFacts:
        """What is known of its charts and devices, with sources.

        Raises:
            PartMissing: The driver has no facts.
        """
        return _facts(self)

    @property
    def resources(self) -> DriverResources:
        """What it says of charts, images and labels in any program.

        Raises:
            PartMissing: The driver says nothing of them.
        """
        if "resources" in self.without:
            return NOTHING
        return cast("DriverResources", self._of("resources", "RESOURCES"))

    def folder(self, home: str) -> str:
        """The package with what another room has of the driver.

        Args:
            home: the room's package with the folders of this program's drivers; one from elsewhere has it in
                its own package.
        """
        return f"{home}.{self.name}" if self.package.startswith(_OWN) else self.package

    def _of(self, module: Part, name: str) -> Any:  # noqa: ANN401 - each question says what it asks for
        """What a part calls by a name.

        Raises:
            PartMissing: The driver has no such part, or the part nothing of that name.
        """
        return part(f"driver {self.name} has no {name}", f"{self.package}.{module}", name)


@cache
def _facts(driver: DriverParts) -> DriverFacts:
    from dra_fleet.drivers.common.facts import DriverFacts  # noqa: PLC0415 - models take long to build

    facts = data(f"driver {driver.name} has no facts", driver.package, "driver.yaml")
    return DriverFacts.model_validate(facts)
