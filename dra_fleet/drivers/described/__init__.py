"""A DRA driver that the program does not know, as a stack file describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.drivers.base import Driver
from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
from dra_fleet.drivers.common.parameters import ParameterField, ParameterKind
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.model.settings import DriverSettings

if TYPE_CHECKING:
    import datetime as dt

    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.settings import DescribedDriver

SOURCE: Final = "the stack file"


class Described(Driver):
    """A driver whose facts a stack file states; the values and guards of its chart are unknown."""

    intents = {}

    def __init__(self, facts: DriverFacts, plugin_section: str) -> None:
        self.name = facts.name
        self.publishers = {facts.driver: facts.name}
        self.plugin_section = plugin_section
        self._facts = facts

    @property
    @override
    def facts(self) -> DriverFacts:
        return self._facts

    @override
    def serves(self, machine: Machine) -> bool:
        return False


def described(name: str, settings: str) -> Driver:
    """Return the driver that settings describe.

    Args:
        name: its key in the stack file.
        settings: a cluster's settings of it, as JSON; they describe it.
    """
    requested = DriverSettings.model_validate_json(settings, by_alias=False, by_name=True)
    reported: DescribedDriver = requested.described  # pyright: ignore[reportAssignmentType] - the caller looked
    date = kubernetes_facts().date
    version = ChartVersion(
        version=requested.version,
        chart=reported.chart,
        repository=reported.repository,
        verified=False,
        values={},
        feature_gates={},
        classes=(),
        source=SOURCE,
        date=date,
    )
    facts = DriverFacts(
        name=name,
        driver=reported.publishes,
        namespace=name,
        device_types=(),
        attributes=(),
        capacities=(),
        parameters=_parameters(reported, date),
        versions=(version,),
        source=SOURCE,
        date=date,
    )
    return Described(facts, reported.plugin)


def _parameters(reported: DescribedDriver, date: dt.date) -> tuple[ParameterKind, ...] | None:
    if reported.parameters is None:
        return None
    return tuple(
        ParameterKind(
            kind=one.kind,
            api_version=one.api_version,
            driver=reported.publishes,
            fields=tuple(ParameterField.model_validate(field.model_dump()) for field in one.fields),
            source=SOURCE,
            date=date,
        )
        for one in reported.parameters
    )
