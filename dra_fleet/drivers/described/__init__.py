"""A DRA driver that the program does not know, as a stack file describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from typing_extensions import override

from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
from dra_fleet.drivers.common.parameter_kinds import ParameterField, ParameterKind
from dra_fleet.drivers.driver import Driver
from dra_fleet.drivers.value import Part
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.plain import dataclass
from dra_fleet.settings.releases import DriverSettings

if TYPE_CHECKING:
    import datetime as dt

    from dra_fleet.settings.releases import DescribedDriver

SOURCE: Final = "the stack file"


@dataclass(frozen=True, eq=False, kw_only=True)
class Described(Driver):
    """A driver whose facts a stack file tells; what its chart takes and refuses is not known."""

    told: DriverFacts

    @property
    @override
    def facts(self) -> DriverFacts:
        return self.told


def described(name: str, settings: str) -> Driver:
    """The driver.

    Args:
        name: its key in the stack file.
        settings: a cluster's settings of it, as JSON; they describe it.
    """
    wanted = DriverSettings.model_validate_json(settings, by_alias=False, by_name=True)
    told: DescribedDriver = wanted.described  # pyright: ignore[reportAssignmentType] - the caller looked
    date = kubernetes_facts().date
    version = ChartVersion(
        version=wanted.version,
        chart=told.chart,
        repository=told.repository,
        verified=False,
        values={},
        feature_gates={},
        classes=(),
        source=SOURCE,
        date=date,
    )
    facts = DriverFacts(
        name=name,
        driver=told.publishes,
        namespace=name,
        device_types=(),
        attributes=(),
        capacities=(),
        parameters=_parameters(told, date),
        versions=(version,),
        source=SOURCE,
        date=date,
    )
    return Described(
        name=name,
        package=__name__,
        publishers={told.publishes: name},
        intents={},
        without=frozenset(get_args(Part)),
        plugin_section=told.plugin,
        told=facts,
    )


def _parameters(told: DescribedDriver, date: dt.date) -> tuple[ParameterKind, ...] | None:
    if told.parameters is None:
        return None
    return tuple(
        ParameterKind(
            kind=one.kind,
            api_version=one.api_version,
            driver=told.publishes,
            fields=tuple(ParameterField.model_validate(field.model_dump()) for field in one.fields),
            source=SOURCE,
            date=date,
        )
        for one in told.parameters
    )
