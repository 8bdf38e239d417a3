"""What a cloud is to the rest of the program: one frozen value that answers for it.

Small facts are plain data. What takes longer to load is in modules of the cloud's own folder and is resolved
on use, so that a stack of one cloud loads the settings, rules and facts of no other.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from dra_fleet.facts.loading import by_name
from dra_fleet.facts.parts import data, part
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.clouds.exposure import Exposed
    from dra_fleet.clouds.questions import CloudQuestion
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.drivers.driver import Driver, Release
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.plan import ChartValues, ClusterPlan, PoolPlan, ReleasePlan
    from dra_fleet.settings.cluster import CommonClusterSettings
    from dra_fleet.settings.clusters import ClusterSettings
    from dra_fleet.settings.fleet import FleetSettings
    from dra_fleet.settings.kubeconfig import KubeconfigSource
    from dra_fleet.settings.operators import GpuOperatorSettings
    from dra_fleet.settings.outputs import TextOrOutput

    Place = tuple[str, ...]
    """A path in the stack file below the fleet's key."""

SettingsT = TypeVar("SettingsT", bound="ClusterSettings")
"""A cloud's settings of a cluster."""
Settings_contra = TypeVar("Settings_contra", bound="ClusterSettings", contravariant=True)
_OWN = "dra_fleet.clouds."
MACHINES = "machines.yaml"


class Check(Protocol[Settings_contra]):
    """What is wrong with a cluster of one cloud."""

    def __call__(
        self,
        name: str,
        fleet: FleetSettings,
        settings: Settings_contra,
        minor: str,
        pools: Sequence[PoolPlan],
        /,
        *,
        findings: Findings,
    ) -> None:
        """Check a cluster and its pools, apart from the releases' final values."""


def nothing(*_: object) -> None:
    """The answer of a cloud where there is nothing to check, or nothing of what is asked for."""


def no_values(*_: object) -> ChartValues:
    """The answer of a cloud on which charts need nothing beyond the driver's own values."""
    return {}


def no_operators(_: object) -> Mapping[str, GpuOperatorSettings]:
    """The answer of a cloud whose stack files ask for no operator."""
    return {}


def no_classes(*_: object) -> Mapping[str, str]:
    """The answer of a cloud that brings no DeviceClass."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Autoscaler:
    """What grows a cloud's pools.

    Attributes:
        title: What people call it.
        otherwise: What else could add the first node of a pool, to end a sentence with.
        imagines: The devices that it imagines on a node of a pool without nodes, and why there are none; None
            where it sees devices only through a node that the pool has.
    """

    title: str
    otherwise: str = ""
    imagines: Callable[[PoolPlan], tuple[tuple[NodeDevice, ...], str]] | None = None


@dataclass(frozen=True, kw_only=True)
class Planning(Generic[SettingsT]):
    """How a cloud's settings of a cluster become a plan, and what is wrong with them there.

    No question has a default: a cloud written before a question was added fails by the question's name.

    Attributes:
        plan_pool: From the pool's place and name the plan of one of the cluster's pools, or None after its
            machine was refused.
        check: Checks a cluster and its pools, apart from the releases' final values.
        autoscaler: What grows its pools.
        operators: By the key of the cluster's settings the operators that it asks for to ready its nodes.
        host_driver: What is known of node images that bring the devices' driver, where there are operators.
        driver_values: What a DRA driver's chart needs on this cloud beyond the driver's own values. Gets the
            driver, the release to be made, and the stack's own values, which decide for example whether
            there is a controller.
        check_values: Checks the final values of a DRA driver's release against the pools it serves. Gets the
            driver's place in the stack file, and the driver.
        own_classes: By name the selector of each DeviceClass that the cloud itself brings to a cluster.
        offered_classes: By name of a DeviceClass that the cloud brings only where a pool asks for it, the
            setting by which a pool does.
        kubeconfig: Where a cluster's kubeconfig comes from; None where the program makes one of what the
            cloud tells of the cluster.
        adopts: The name in the cloud of a cluster that was there before the stack, else None.
        account: The key of a cluster's settings that names its account in the cloud, and the account; None
            where the cloud has none.
        plan_cluster: What the cloud is asked for, with final names: a frozen value of the cloud's own that
            its component reads. Gets name, settings, minor and pools of a cluster of a stack without errors.
    """

    plan_pool: Callable[[Place, str, SettingsT, Findings], PoolPlan | None]
    check: Check[SettingsT]
    autoscaler: Autoscaler
    operators: Callable[[SettingsT], Mapping[str, GpuOperatorSettings]]
    host_driver: HostDriver
    driver_values: Callable[[Driver, Release, SettingsT, ChartValues], ChartValues]
    check_values: Callable[[Place, Driver, Sequence[PoolPlan], ReleasePlan, Findings], None]
    own_classes: Callable[[SettingsT], Mapping[str, str]]
    offered_classes: Callable[[], Mapping[str, str]]
    kubeconfig: Callable[[SettingsT], KubeconfigSource | None]
    adopts: Callable[[SettingsT], TextOrOutput | None]
    account: Callable[[SettingsT], tuple[str, str | None] | None]
    plan_cluster: Callable[[str, SettingsT, str, Sequence[PoolPlan]], object]


@dataclass(frozen=True, eq=False, kw_only=True)
class Cloud:
    """One cloud.

    A cloud of this program has its component in `components/clouds/<name>`; one from elsewhere has it in its
    own folder too.

    Attributes:
        name: Its name in stack files.
        title: What people call it.
        package: The package with its settings, plan, facts and resources.
        credential_helper: The command that its clusters' kubeconfigs call for a token; empty where that is
            their own matter.
        command_line: The command by which its account is asked; empty where there is no account to ask.
        guarded_priorities: The priority classes that it admits outside of kube-system only where a
            ResourceQuota of the namespace allows them.
        tolerates_resources: Whether its admission adds to a pod a toleration of the taint that is named like
            an extended resource the pod asks for.
        tolerated_selectors: The node labels whose taint its admission tolerates for pods that select by them.
        makes_nodes: Whether the stack makes the nodes of its pools; else they are there and are selected.
    """

    name: str
    title: str
    package: str
    credential_helper: str = ""
    command_line: str = ""
    guarded_priorities: tuple[str, ...] = ()
    tolerates_resources: bool = False
    tolerated_selectors: tuple[str, ...] = ()
    makes_nodes: bool = True

    @property
    def settings(self) -> type[CommonClusterSettings]:
        """The settings of a cluster."""
        return cast("type[CommonClusterSettings]", self._part("settings", "settings", "SETTINGS"))

    @property
    def planning(self) -> Planning[ClusterSettings]:
        """How the settings of a cluster become a plan."""
        return cast("Planning[ClusterSettings]", self._part("plan", "plan", "PLANNING"))

    @property
    def machines(self) -> Mapping[str, Machine]:
        """Its machine types by name.

        Raises:
            PartMissing: it has no list of them.
        """
        return _machines(self)

    @property
    def resources(self) -> CloudResources:
        """What it says of its own resources, whoever declares them. Loads neither settings nor plan."""
        return cast("CloudResources", self._part("resources", "resources", "RESOURCES"))

    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        """How a cluster is reached, by whom and with which credentials.

        Args:
            settings: the cluster's.
        """
        told = self._part("exposure", "exposure", "exposure")
        return cast("Callable[[ClusterSettings], Sequence[Exposed]]", told)(settings)

    def questions(self, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
        """What its account is asked before `pulumi up`, by its command line; nothing where it has none.

        Args:
            cluster: the plan of one of its clusters.
        """
        if not self.command_line:
            return ()
        told = self._part("questions", "questions", "questions")
        return cast("Callable[[ClusterPlan], Sequence[CloudQuestion]]", told)(cluster)

    def component(self, home: str) -> object:
        """The component that declares a cluster.

        Args:
            home: the package with the components of this program's clouds.
        """
        own = self.package.startswith(_OWN)
        folder = f"{home}.{self.name}" if own else self.package
        return part(f"cloud {self.name} has no component", f"{folder}.cluster", "COMPONENT")

    @property
    def simulation(self) -> object:
        """The simulation that a rehearsal runs."""
        return self._part("simulation", "simulation", "SIMULATION")

    def _part(self, what: str, module: str, constant: str) -> object:
        return part(f"cloud {self.name} has no {what}", f"{self.package}.{module}", constant)


@cache
def _machines(cloud: Cloud) -> Mapping[str, Machine]:
    from dra_fleet.hardware.models import Machine  # noqa: PLC0415 - who asks for no machine builds no model

    facts = data(f"cloud {cloud.name} has no machines", cloud.package, MACHINES)
    return by_name(Machine.model_validate(entry) for entry in facts["machines"])
