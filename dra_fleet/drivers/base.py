"""Interface of a DRA driver: a base class with defaults, and one subclass per driver.

A driver is one folder. Its `driver.py` holds the subclass, `driver.yaml` the facts, `simulation/` the node
side of rehearsals.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.drivers.common.placement import placed
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.resources import DriverResources
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings, Refusal, SettingsError
    from dra_fleet.core.transitions import Transition
    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.kubernetes.cel.intent import Asked
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import Object
    from dra_fleet.model.plan import ChartValues, ComputeDomainPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.settings import GpuOperatorSettings, SettingsModel, Sharing
    from dra_fleet.model.workloads import DemandSettings

Order = Literal["by index", "sorted", "random"]
"""The order of a driver's devices in a slice; the scheduler tries them in that order."""


class NetworkCards(Struct, frozen=True, kw_only=True):
    """Network cards that a driver publishes: how many of a machine's, and from which of its cards on."""

    count: int
    first: int


class MachineTraits(Struct, frozen=True, kw_only=True):
    """Properties of a machine's devices beside their model; None if unknown.

    Attributes:
        network_cards: Those that a driver publishes.
        divisible: False if the devices cannot be divided although others of their model can.
        divided_by_cloud: Whether the cloud divides them itself when a pool requests it.
        least_host_driver: The oldest branch of the host's device driver that supports them.
    """

    network_cards: NetworkCards | None = None
    divisible: bool | None = None
    divided_by_cloud: bool | None = None
    least_host_driver: int | None = None


class Accelerators(Struct, frozen=True, kw_only=True):
    """The accelerators of one node.

    Attributes:
        model: The model, or the generation.
        count: How many one node has.
        called: The cloud's name for them, if it differs from the name of the machine's own GPUs.
        topology: How they are connected, if the driver publishes it.
    """

    model: str
    count: int
    called: str = ""
    topology: str = ""


class Release(Struct, frozen=True, kw_only=True):
    """A release to be made: the chart version, the Kubernetes version, the namespace, the cluster's pools."""

    version: ChartVersion
    minor: str
    namespace: str
    pools: Sequence[PoolPlan]


class Driver(ABC):
    """A DRA driver. Subclasses set the first two attributes and override what differs from the defaults.

    Attributes:
        name: Its name in stack files.
        publishers: The names under which it publishes ResourceSlices, each with a word that identifies the
            pods that do so if their specification does not name it.
        intents: Per key of a class in the stack file, the attribute or capacity that answers it.
        plugin_section: The chart value that holds the placement of the plugin's pods; "" for the top level.
        resources: How any program's charts, images and labels are recognized as the driver's.
        controller_switch: The chart value that turns its controller on; "" without one.
        operator: The key of a cluster's settings for the operator that prepares its nodes; "" without one.
        extended_resource: The resource name under which a device plugin advertises the same devices; "" for
            none.
        owns_names: Whether no other driver publishes under its names.
        serves_pods: Whether its devices belong to the whole pod, so that no container needs to name the
            claim.
        api_group: The API group of the driver's own objects; "" for none, or none that is checked.
        unisolated: Titles of the strategies of its opaque configuration that isolate neither memory nor
            faults.
        prepared_together: The title of a node's devices if the driver prepares all of them for one claim or
            none; "" if it prepares each alone.
        sharing_value: The chart value that lets several claims use one device; "" without one.
        settles: Dotted keys that, set by the user, answer the question of `conflicts`.
        is_usual: Whether a cluster that installs its own drivers is assumed to run it.
        takes_descriptions: Whether stack files describe its devices, because the catalogue cannot.
        allocates_node_resources: True if it allocates CPUs or memory, which the kubelet counts too.
        on_every_node: Whether it publishes something on every node, so that devices which nothing describes
            are unknown rather than absent.
        order: The order in which it publishes devices; "random" if unknown.
        order_with_counters: The same for devices that share counters.
    """

    name: str
    publishers: Mapping[str, str]
    intents: Mapping[str, str] = {}
    plugin_section: str = ""
    resources: DriverResources = DriverResources()
    controller_switch: str = ""
    operator: str = ""
    extended_resource: str = ""
    owns_names: bool = True
    serves_pods: bool = False
    api_group: str = ""
    unisolated: Mapping[str, str] = {}
    prepared_together: str = ""
    sharing_value: str = ""
    settles: frozenset[str] = frozenset()
    is_usual: bool = False
    takes_descriptions: bool = False
    allocates_node_resources: bool = False
    on_every_node: bool = False
    order: Order = "random"
    order_with_counters: Order = "random"

    @property
    def package(self) -> str:
        """The package of the driver's folder."""
        return sys.modules[type(self).__module__].__package__ or ""

    def transitions(self) -> tuple[Transition, ...]:
        """Return the documented upgrades of the driver, its operator and its partitions; none by default."""
        return ()

    @property
    def facts(self) -> DriverFacts:
        """The facts of `driver.yaml`: charts and devices, with sources.

        Raises:
            ExpectedError: The folder has no such file.
        """
        from dra_fleet.drivers.common.facts import driver_facts  # noqa: PLC0415 - pydantic takes long to load

        return driver_facts(self.name, self.package)

    # Chart values

    def plugin_key(self, key: str) -> str:
        """Return the dotted key of a chart value about the plugin's pods, such as `tolerations`."""
        return f"{self.plugin_section}.{key}" if self.plugin_section else key

    def values(self, release: Release) -> ChartValues:
        """Return this program's chart values for a release."""
        return placed(self, release)

    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        """Return what the chart or the driver would reject of the final values."""
        del release, final
        return ()

    def conflicts(self, release: Release) -> Sequence[Refusal]:
        """Return why one release cannot serve all its pools."""
        del release
        return ()

    def priority_class_keys(self, values: ChartValues) -> Sequence[str]:
        """Return the dotted keys that give the chart's critical pods another priority class."""
        del values
        return ()

    def priority_keys(self, values: ChartValues, version: ChartVersion | None) -> Sequence[str]:
        """Return those of `priority_class_keys` that a chart version has; all if the version is unknown."""
        return [key for key in self.priority_class_keys(values) if version is None or key in version.values]

    def has_controller(self, values: ChartValues, *, default: bool) -> bool:
        """Return whether a release runs a controller besides the plugin.

        Args:
            values: The chart's values.
            default: The answer for values that leave it open.
        """
        switch = self.controller_switch
        return bool(switch) and bool(value_at(values, switch, default=default))

    # Devices

    @abstractmethod
    def serves(self, machine: Machine) -> bool:
        """Return whether the catalogue says that a machine has devices of the driver."""

    def served(self, pools: Iterable[PoolPlan]) -> list[PoolPlan]:
        """Return the pools whose nodes have devices of the driver, by machine or by description."""
        return [pool for pool in pools if self.serves(pool.machine) or self._described_on(pool)]

    def accelerators_of(self, machine: Machine) -> Accelerators | None:
        """Return the accelerators that a machine is chosen for, if the driver serves them."""
        del machine
        return None

    def traits(self, machine: Machine) -> MachineTraits:
        """Return what the machine's row says about the driver's devices beside their model."""
        del machine
        return MachineTraits()

    def accelerators(self) -> Mapping[str, int | None]:
        """Return the models by which users describe a custom machine that the driver serves.

        Returns:
            By name the memory of each in MiB as the driver reports it; None if no public figure is known.
        """
        return {}

    def publishes(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        """Return the devices that the driver publishes on a node of a pool, and what cannot be predicted.

        Args:
            pool: The pool.
            installed: The driver as it runs there.
            minor: The cluster's Kubernetes version.
        """
        if not self._described_on(pool) and (found := self.predict(pool, installed, minor)) is not None:
            return found
        from dra_fleet.drivers.common.predicting import devices_text  # noqa: PLC0415 - models take long to build

        if self.on_every_node and not self._described_on(pool):
            return Published(unpredictable=dict.fromkeys(self.publishers, self._undescribed(pool)))
        always = self.facts.always_in(installed.version.version)
        return devices_text(pool, frozenset(self.publishers), {self.facts.driver: always})

    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published | None:
        """Return the devices of a node whose pool no stack file describes; None if only descriptions help."""
        del pool, installed, minor
        return None

    def classes(self, installed: Installed) -> Mapping[str, str]:
        """Return the DeviceClasses that its chart installs, each with its selector."""
        known = self.facts.class_selectors
        return {name: known[name] for name in installed.version.classes if name in known}

    def _undescribed(self, pool: PoolPlan) -> str:
        name = self.facts.driver
        place = f"devices: [{{driver: {name}, …}}] of pool {pool.name}"
        return (
            f"what driver {name} publishes depends on the machine: describe it in {place}, or {GIVE_SLICES}"
        )

    def _described_on(self, pool: PoolPlan) -> bool:
        return any(item.driver in self.publishers for item in pool.devices)

    # Settings

    def strategies(self) -> tuple[type[SettingsModel], ...]:
        """Return the settings models of the strategies of sharing that it offers besides whole devices."""
        return ()

    def sections(self) -> Mapping[str, type[SettingsModel]]:
        """Return by key the settings models of entries in sections of a stack file that are the driver's."""
        return {}

    def check_sharing(self, machine: Machine, requested: Sharing, path: str) -> list[SettingsError]:
        """Return the errors of sharing a machine's devices by one of the driver's strategies.

        Args:
            machine: It has devices of the driver.
            requested: The strategy.
            path: The strategy's place in the stack file.
        """
        del machine, requested, path
        return []

    def isolation(self, machine: Machine, requested: Sharing) -> str:
        """Return what isolates a machine's devices of the driver from each other; "" if nothing does."""
        del machine, requested
        return ""

    def is_divided(self, machine: Machine, requested: Sharing) -> bool:
        """Return whether a strategy has a machine's devices divided before the driver publishes them."""
        del machine, requested
        return False

    def replicas(self, sharing: Sharing) -> int:
        """Return how often a device plugin advertises each device that is shared by a strategy."""
        del sharing
        return 1

    def plugin_resources(self, pool: PoolPlan, operator: ChartValues) -> Mapping[str, int]:
        """Return the extended resources that a device plugin advertises on each node of a pool.

        Args:
            pool: A pool whose devices it advertises.
            operator: Values of the chart that installs the plugin, empty if the stack has none.
        """
        del operator
        devices = self.accelerators_of(pool.machine)
        return {self.extended_resource: devices.count * self.replicas(pool.sharing)} if devices else {}

    def plugin_labels(self, sharing: Sharing) -> Mapping[str, str]:
        """Return the node labels by which a device plugin shares devices by a strategy."""
        del sharing
        return {}

    # The plan

    def check_fleet(self, settings: FleetSettings, findings: Findings) -> None:
        """Reject settings of the driver that a fleet cannot have."""
        del settings, findings

    def check_cluster(
        self, cluster: str, settings: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
    ) -> None:
        """Reject what the driver could not serve on a cluster.

        Args:
            cluster: The cluster's name.
            settings: The fleet.
            pools: The cluster's pools.
            findings: Collects the problems.
        """
        del cluster, settings, pools, findings

    def plan_domains(
        self,
        cluster: str,
        settings: FleetSettings,
        pools: Sequence[PoolPlan],
        releases: Sequence[ReleasePlan],
        findings: Findings,
    ) -> tuple[ComputeDomainPlan, ...]:
        """Return the driver's objects on a cluster that connect the devices of pods on several nodes."""
        del cluster, settings, pools, releases, findings
        return ()

    def node_labels(self, workload: DemandSettings, pools: Sequence[PoolPlan]) -> Mapping[str, str]:
        """Return the labels that a workload's nodes must have for the driver."""
        del workload, pools
        return {}

    def shared_by(self, workload: DemandSettings, settings: FleetSettings) -> str:
        """Return the strategy by which a workload's pods share devices without isolation; "" for none."""
        del workload, settings
        return ""

    def object_refusals(self, spec: Object, installed: Sequence[Installed]) -> Sequence[Refusal]:
        """Return what keeps an object of the driver's API group from working, with paths in the object.

        Args:
            spec: Its spec.
            installed: The drivers of the cluster it is for.
        """
        del spec, installed
        return ()

    def plan_operator(
        self,
        at: tuple[str, ...],
        settings: GpuOperatorSettings,
        pools: Sequence[PoolPlan],
        host: HostDriver,
        findings: Findings,
    ) -> ReleasePlan | None:
        """Return the release of the operator that prepares the driver's nodes; None after a rejection."""
        del at, settings, pools, host, findings
        return None

    # Nodes

    def pool_labels(self, machine: Machine, requested: Sharing, *, by_operator: bool) -> Mapping[str, str]:
        """Return the labels that a pool's nodes need for the driver and for the operator that prepares them.

        Args:
            machine: The pool's.
            requested: How its devices are shared.
            by_operator: Whether the operator installs the devices' driver.
        """
        del machine, requested, by_operator
        return {}

    def placement_values(self, release: Release) -> ChartValues:
        """Return the chart values by which the plugin starts on labelled nodes only when these are ready."""
        del release
        return {}

    def fabric_values(self, release: Release, fabric: str, *, is_labelled: bool) -> ChartValues:
        """Return the chart values by which pods reach each other's devices over a fabric between machines.

        Args:
            release: The release to be made.
            fabric: The fabric, as machines name it.
            is_labelled: Whether another component labels nodes by their part of it.
        """
        del release, fabric, is_labelled
        return {}

    def awaits(self, spec: Object, node: Object) -> str | None:
        """Return what the driver's pods wait for before they start on a node; None for nothing.

        Args:
            spec: Of the driver's pods.
            node: A node without such a pod.
        """
        del spec, node
        return None

    def undivided(self, asks: Asked, device: Object, node: Object) -> str:
        """Return why a node has a whole device where a part is requested, and the fix; "" otherwise.

        Args:
            asks: What the expression requests and the device lacks.
            device: The device as it is published.
            node: The device's node.
        """
        del asks, device, node
        return ""

    def node_side(self) -> object:
        """Return the driver's node side in rehearsals. A driver of another package overrides this.

        Raises:
            ExpectedError: The driver has none.
        """
        raise ExpectedError(f"driver {self.name} has no node side: write {type(self).__name__}.node_side")

    def unusable(self) -> str:
        """Return why a running plugin may find nothing on its host; "" if nothing more is known."""
        return ""
