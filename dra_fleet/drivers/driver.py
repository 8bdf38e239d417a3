"""What the program asks of a DRA driver: one frozen value each, whose parts are resolved on use.

A driver is a folder. Its package holds the value, `driver.yaml` its facts, and a module each of its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.placement import placed
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.driver_parts import DriverParts
from dra_fleet.drivers.value import MachineTraits
from dra_fleet.model.nodes import GIVE_SLICES, Published
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.cel.intent import Asked
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.drivers.value import Accelerators
    from dra_fleet.findings.errors import SettingsError
    from dra_fleet.findings.refusal import Refusal
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import ChartValues, ComputeDomainPlan, PoolPlan, ReleasePlan
    from dra_fleet.settings.base import SettingsModel
    from dra_fleet.settings.fleet import FleetSettings
    from dra_fleet.settings.operators import GpuOperatorSettings
    from dra_fleet.settings.sharing import Sharing
    from dra_fleet.settings.workloads import WorkloadSettings

    Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release to be made: the chart version, where it goes, and the pools its driver serves."""

    version: ChartVersion
    minor: str
    namespace: str
    pools: Sequence[PoolPlan]


@dataclass(frozen=True, eq=False, kw_only=True)
class Driver(DriverParts):
    """One DRA driver: what its value tells, and what its parts answer."""

    def plugin_key(self, key: str) -> str:
        """The dotted key of a chart value about the plugin's pods, such as `tolerations`."""
        return f"{self.plugin_section}.{key}" if self.plugin_section else key

    def values(self, release: Release) -> ChartValues:
        """This program's chart values for a release."""
        return placed(self, release) if "values" in self.without else self._of("values", "values")(release)

    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        """What the chart or the driver would refuse of the final values."""
        return () if "values" in self.without else self._of("values", "guards")(release, final)

    def conflicts(self, release: Release) -> Sequence[Refusal]:
        """Why one release cannot serve all its pools."""
        return () if "values" in self.without else self._of("values", "conflicts")(release)

    def priority_keys(self, values: ChartValues, version: ChartVersion | None) -> Sequence[str]:
        """The dotted keys by which the chart's pods, which are critical, are given another priority class."""
        told = () if "values" in self.without else self._of("values", "priority_keys")(values)
        return [key for key in told if version is None or key in version.values]

    def has_controller(self, values: ChartValues, *, default: bool) -> bool:
        """Whether a release has a controller beside the plugin.

        Args:
            values: the chart's values.
            default: the answer of values that leave it open.
        """
        switch = self.controller_switch
        return bool(switch) and bool(value_at(values, switch, default=default))

    def serves(self, machine: Machine) -> bool:
        """Whether a machine has devices of the driver."""
        return "slices" not in self.without and self._of("slices", "serves")(machine)

    def served(self, pools: Iterable[PoolPlan]) -> list[PoolPlan]:
        """Those of some pools whose nodes have devices of the driver, as machines or stack files tell."""
        return [pool for pool in pools if self.serves(pool.machine) or self._described_on(pool)]

    def accelerators_of(self, machine: Machine) -> Accelerators | None:
        """What the driver serves of a machine that one chooses the machine for; None where nothing."""
        return None if "slices" in self.without else self._of("slices", "accelerators_of")(machine)

    def traits(self, machine: Machine) -> MachineTraits:
        """What a machine's row tells the driver of its devices, beside what they are."""
        return MachineTraits() if "machines" in self.without else self._of("machines", "traits")(machine)

    def accelerators(self) -> Mapping[str, int | None]:
        """The models by which a machine of one's own is described as one that the driver serves.

        Returns:
            By name the memory of each in MiB as the driver reports it; None where no public figure is known.
        """
        return {} if "slices" in self.without else self._of("slices", "accelerators")()

    def publishes(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        """What the driver publishes on a node of a pool, and what of it cannot be told.

        Args:
            pool: the pool.
            installed: the driver as it runs there.
            minor: the cluster's Kubernetes minor.
        """
        if "slices" not in self.without and not self._described_on(pool):
            return self._of("slices", "publishes")(pool, installed, minor)
        from dra_fleet.drivers.common.told_devices import told_devices  # noqa: PLC0415 - models take long to build

        if self.on_every_node and not self._described_on(pool):
            return Published(unpredictable=dict.fromkeys(self.publishers, self._untold(pool)))
        return told_devices(pool, frozenset(self.publishers))

    def _untold(self, pool: PoolPlan) -> str:
        name = self.facts.driver
        told = f"devices: [{{driver: {name}, …}}] of pool {pool.name}"
        return f"what driver {name} publishes depends on the machine: describe it in {told}, or {GIVE_SLICES}"

    def _described_on(self, pool: PoolPlan) -> bool:
        return any(item.driver in self.publishers for item in pool.devices)

    def strategies(self) -> tuple[type[SettingsModel], ...]:
        """The settings of the strategies of sharing that the driver offers beside whole devices."""
        return () if "settings" in self.without else self._of("settings", "STRATEGIES")

    def sections(self) -> Mapping[str, type[SettingsModel]]:
        """By its key the settings of an entry in a section of a stack file that is the driver's own."""
        return {} if "settings" in self.without else self._of("settings", "SECTIONS")

    def check_sharing(self, machine: Machine, wanted: Sharing, path: str) -> list[SettingsError]:
        """What is wrong with sharing a machine's devices by one of the driver's strategies.

        Args:
            machine: it has devices of the driver.
            wanted: the strategy.
            path: where the strategy stands in the stack file.
        """
        return self._of("sharing", "check_sharing")(machine, wanted, path)

    def isolation(self, machine: Machine, wanted: Sharing) -> str:
        """What isolates a machine's devices of the driver from each other; empty where it has none."""
        return "" if "sharing" in self.without else self._of("sharing", "isolation")(machine, wanted)

    def is_divided(self, machine: Machine, wanted: Sharing) -> bool:
        """Whether a strategy has a machine's devices divided before the driver publishes them."""
        return "sharing" not in self.without and self._of("sharing", "is_divided")(machine, wanted)

    def check_fleet(self, settings: FleetSettings, findings: Findings) -> None:
        """Refuse what the driver's own settings cannot mean in a fleet."""
        if "plan" not in self.without:
            self._of("plan", "check_fleet")(settings, findings)

    def check_cluster(
        self, cluster: str, settings: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
    ) -> None:
        """Refuse what the driver could not serve on a cluster.

        Args:
            cluster: the cluster's name.
            settings: the fleet.
            pools: the cluster's pools.
            findings: collects the problems.
        """
        if "plan" not in self.without:
            self._of("plan", "check_cluster")(cluster, settings, pools, findings)

    def plan_domains(
        self,
        cluster: str,
        settings: FleetSettings,
        pools: Sequence[PoolPlan],
        releases: Sequence[ReleasePlan],
        findings: Findings,
    ) -> tuple[ComputeDomainPlan, ...]:
        """The driver's own objects on a cluster by which pods on several nodes reach each other's devices."""
        if "plan" in self.without:
            return ()
        return self._of("plan", "plan_domains")(cluster, settings, pools, releases, findings)

    def node_labels(self, workload: WorkloadSettings, pools: Sequence[PoolPlan]) -> Mapping[str, str]:
        """The labels that a workload's nodes must have for the driver's sake."""
        return {} if "plan" in self.without else self._of("plan", "node_labels")(workload, pools)

    def shared_by(self, workload: WorkloadSettings, settings: FleetSettings) -> str:
        """By what a workload's pods share the driver's devices without isolation; empty where they do not."""
        return "" if "plan" in self.without else self._of("plan", "shared_by")(workload, settings)

    def object_refusals(self, spec: Object, installed: Sequence[Installed]) -> Sequence[Refusal]:
        """What keeps an object of the driver's own from working, with paths in the object.

        Args:
            spec: its spec.
            installed: the drivers of the cluster it is for.
        """
        return self._of("plan", "object_refusals")(spec, installed)

    def pool_labels(self, machine: Machine, wanted: Sharing, *, by_operator: bool) -> Mapping[str, str]:
        """The labels that a pool's nodes need for the driver, and for the operator that readies them.

        Args:
            machine: the pool's.
            wanted: how its devices are shared.
            by_operator: whether the operator installs the devices' driver.
        """
        if "nodes" in self.without:
            return {}
        return self._of("nodes", "pool_labels")(machine, wanted, by_operator=by_operator)

    def placement_values(self, release: Release) -> ChartValues:
        """The chart values by which the plugin starts on labelled nodes once these are ready for it."""
        return {} if "nodes" in self.without else self._of("nodes", "placement_values")(release)

    def fabric_values(self, release: Release, fabric: str, *, is_labelled: bool) -> ChartValues:
        """The chart values by which pods reach each other's devices over a fabric of the cloud's machines.

        Args:
            release: the release to be made.
            fabric: the fabric, as machines name it.
            is_labelled: whether somebody else labels nodes by their part of it.
        """
        if "nodes" in self.without:
            return {}
        return self._of("nodes", "fabric_values")(release, fabric, is_labelled=is_labelled)

    def plan_operator(
        self,
        at: tuple[str, ...],
        settings: GpuOperatorSettings,
        pools: Sequence[PoolPlan],
        host: HostDriver,
        findings: Findings,
    ) -> ReleasePlan | None:
        """The release of the operator that readies the driver's nodes, or None after it was refused."""
        return self._of("plan", "plan_operator")(at, settings, pools, host, findings)

    def awaits(self, spec: Object, node: Object) -> str | None:
        """What the driver's pods wait for before they come to a node; None where they wait for nothing.

        Args:
            spec: of the driver's pods.
            node: one without such a pod.
        """
        return None if "nodes" in self.without else self._of("nodes", "awaits")(spec, node)

    def undivided(self, asks: Asked, device: Object, node: Object) -> str:
        """Why a node has a whole device where a part of one is asked for, and what to do; empty otherwise.

        Args:
            asks: what the expression asks for that the device misses.
            device: the device as it is published.
            node: the device's.
        """
        return "" if "nodes" in self.without else self._of("nodes", "undivided")(asks, device, node)

    def unusable(self) -> str:
        """Why a running plugin may find nothing on its host; empty where nothing more is known."""
        return "" if "nodes" in self.without else self._of("nodes", "unusable")()
