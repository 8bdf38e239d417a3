"""A DRA driver that the program does not know, as a stack file describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

from typing_extensions import override

from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
from dra_fleet.drivers.common.told_devices import told_devices
from dra_fleet.drivers.common.values import nested
from dra_fleet.drivers.driver import Driver
from dra_fleet.drivers.resources import NO_NAME, DriverResources
from dra_fleet.drivers.value import Part
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import toleration_list
from dra_fleet.settings.releases import DriverSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.drivers.value import Accelerators
    from dra_fleet.findings.refusal import Refusal
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.nodes import Published
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.settings.releases import DescribedDriver

SOURCE: Final = "the stack file"
_RESOURCES: Final = DriverResources(
    told_by="placement",
    publishes=None,
    program=NO_NAME,
    node_taint="",
    node_labels=NO_NAME,
    workloads=NO_NAME,
    root="",
    device_plugin=None,
    operator=None,
    discovery_charts=frozenset(),
    other_charts=frozenset(),
    told_by_values=(),
    dividable=None,
    installer_images=NO_NAME,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Described(Driver):
    """A driver whose facts a stack file tells; what its chart takes and refuses is not known."""

    told: DriverFacts

    @property
    @override
    def facts(self) -> DriverFacts:
        return self.told

    @property
    @override
    def resources(self) -> DriverResources:
        return _RESOURCES

    @override
    def values(self, release: Release) -> ChartValues:
        served = [
            pool for pool in release.pools if any(item.driver in self.publishers for item in pool.devices)
        ]
        tolerations = toleration_list(taint for pool in served for taint in pool.taints)
        return nested({self.plugin_key("tolerations"): tolerations}) if tolerations else {}

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        return ()

    @override
    def conflicts(self, release: Release) -> Sequence[Refusal]:
        return ()

    @override
    def priority_keys(self, values: ChartValues) -> Sequence[str]:
        return ()

    @override
    def serves(self, machine: Machine) -> bool:
        return False

    @override
    def accelerators_of(self, machine: Machine) -> Accelerators | None:
        return None

    @override
    def accelerators(self) -> Mapping[str, int | None]:
        return {}

    @override
    def publishes(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        return told_devices(pool, frozenset(self.publishers))


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
