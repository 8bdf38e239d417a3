"""The base class of a cloud: the questions that the program asks of one, with default answers.

A class loads quickly. Its methods import settings, facts and models when they are called, so that a stack of
one cloud loads those of no other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Generic

from msgspec import Struct
from typing_extensions import TypeVar

from dra_fleet.core.facts import by_name, read
from dra_fleet.core.findings.errors import ExpectedError

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Mapping, Sequence
    from typing import ClassVar

    from dra_fleet.clouds.account import CloudQuestion, Exposed, Lookup
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.clouds.settings import CommonClusterSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.plan import ChartValues, ClusterPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.settings import GpuOperatorSettings, KubeconfigSource, TextOrOutput

    Place = tuple[str, ...]
    """A path in the stack file below the fleet's key."""

SettingsT_co = TypeVar(
    "SettingsT_co", bound="CommonClusterSettings", covariant=True, default="CommonClusterSettings"
)
"""The cloud's settings of a cluster."""


class TagRule(Struct, frozen=True, kw_only=True):
    """The tags that a cloud allows.

    Attributes:
        key: Pattern of a whole key.
        value: Pattern of a whole value.
        most: Tags of one resource at most.
        allowed: The rule in words.
        source: Public page of the rule, with its date.
    """

    key: re.Pattern[str]
    value: re.Pattern[str]
    most: int
    allowed: str
    source: str


class Cloud(ABC, Generic[SettingsT_co]):
    """A cloud.

    A cloud of this program has its component in `components/clouds/<name>`. A cloud of another package
    returns its component from `component`.

    Attributes:
        name: Name in stack files.
        title: Name in messages.
        vendors: Other names that people write instead of `name`.
        credential_helper: Command that the kubeconfigs of its clusters call for a token; "" if there is none.
        command_line: Command that reads its account; "" if there is no account.
        guarded_priorities: Priority classes that it admits outside of kube-system only if a ResourceQuota of
            the namespace allows them.
        tolerates_resources: True if its admission adds to a pod a toleration of the taint with the name of an
            extended resource that the pod requests.
        tolerated_selectors: Node labels whose taint its admission tolerates for pods that select by them.
        tolerated_values: Node labels of which its admission tolerates a taint with the same value, for pods
            that require the label by their selector or affinity.
        makes_nodes: True if the stack creates the nodes of its pools; otherwise pools select existing nodes.
        autoscaler: Name of the autoscaler of its pools.
        tag_rule: Tags that it allows; None if its resources have none.
        first_node: Another way to add the first node of a pool, as the end of a sentence.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    vendors: ClassVar[tuple[str, ...]] = ()
    credential_helper: ClassVar[str] = ""
    command_line: ClassVar[str] = ""
    guarded_priorities: ClassVar[tuple[str, ...]] = ()
    tolerates_resources: ClassVar[bool] = False
    tolerated_selectors: ClassVar[tuple[str, ...]] = ()
    tolerated_values: ClassVar[tuple[str, ...]] = ()
    makes_nodes: ClassVar[bool] = True
    autoscaler: ClassVar[str] = "an autoscaler"
    first_node: ClassVar[str] = ""
    tag_rule: ClassVar[TagRule | None] = None

    @property
    @abstractmethod
    def settings(self) -> type[SettingsT_co]:
        """Model of a cluster's settings."""

    def own(self, settings: ClusterSettings) -> SettingsT_co:
        """Return the settings of one of its clusters as its own model.

        Raises:
            TypeError: The cluster is on another cloud.
        """
        if isinstance(settings, self.settings):
            return settings
        raise TypeError(f"{type(settings).__name__} is not a cluster of {self.title}")

    @property
    @abstractmethod
    def machines(self) -> Mapping[str, Machine]:
        """Machine types by name."""

    @property
    @abstractmethod
    def resources(self) -> CloudResources:
        """Readers of its resources in any program. Loads neither settings nor plans."""

    @abstractmethod
    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        """Return how a cluster is reached, by whom and with which credentials."""

    def questions(self, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
        """Return the questions to its account before `pulumi up`, which `command_line` answers."""
        del cluster
        return ()

    def lookup(
        self, kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]
    ) -> Lookup | None:
        """Return the question whether its account has a cluster or pool, or None for other resources.

        Args:
            kind: The resource's type.
            inputs: The resource's inputs.
            provider: The inputs of its provider.
        """
        del kind, inputs, provider

    @abstractmethod
    def plan_pool(
        self, at: Place, name: str, settings: ClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        """Return the plan of a pool, or None after its machine was refused.

        Args:
            at: The pool's place in the stack file.
            name: The pool's name.
            settings: The cluster's settings.
            findings: Collects the problems.
        """

    def check(
        self,
        name: str,
        fleet: FleetSettings,
        settings: ClusterSettings,
        minor: str,
        pools: Sequence[PoolPlan],
        *,
        findings: Findings,
    ) -> None:
        """Check a cluster and its pools, except the final values of releases."""

    def operators(self, settings: ClusterSettings) -> Mapping[str, GpuOperatorSettings]:
        """Return the operators that a cluster requests for its nodes, by the key of its settings."""
        del settings
        return {}

    def releases(self, name: str, settings: ClusterSettings) -> tuple[ReleasePlan, ...]:
        """Return the releases that create the nodes of a cluster's pools."""
        del name, settings
        return ()

    @property
    def host_driver(self) -> HostDriver:
        """Node images that include the devices' driver."""
        from dra_fleet.drivers.operators import NO_HOST_DRIVER  # noqa: PLC0415 - only plans ask

        return NO_HOST_DRIVER

    def driver_values(
        self, driver: Driver, release: Release, settings: ClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        """Return the values that a DRA driver's chart needs on this cloud beyond the driver's own.

        Args:
            driver: The driver.
            release: The release.
            settings: The cluster's settings.
            theirs: The stack's values, which decide for example whether there is a controller.
        """
        del driver, release, settings, theirs
        return {}

    def check_values(
        self, at: Place, driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
    ) -> None:
        """Check the final values of a DRA driver's release against the pools that it serves."""

    def own_classes(self, settings: ClusterSettings) -> Mapping[str, str]:
        """Return the selector of each DeviceClass that the cloud itself adds to a cluster, by name."""
        del settings
        return {}

    def offered_classes(self) -> Mapping[str, str]:
        """Return the pool setting that adds a DeviceClass of the cloud, by the class's name."""
        return {}

    def managed_drivers(self, settings: ClusterSettings) -> Sequence[ManagedDriver]:
        """Return the DRA drivers that the cloud runs itself on pools of a cluster that request them."""
        del settings
        return ()

    def managed_on(self, pool: str, settings: ClusterSettings) -> tuple[ManagedDriver, ...]:
        """Return those that a pool requests."""
        requested = settings.pools[pool]
        return tuple(item for item in self.managed_drivers(settings) if item.is_requested_by(requested))

    def feature_gates(self, settings: ClusterSettings) -> Collection[str]:
        """Return the feature gates that a cluster has on besides its version's defaults."""
        del settings
        return ()

    def kubeconfig(self, settings: ClusterSettings) -> KubeconfigSource | None:
        """Return the source of a cluster's kubeconfig; None if the program builds it from the cluster."""
        del settings
        return None

    def adopts(self, settings: ClusterSettings) -> TextOrOutput | None:
        """Return the cloud's name of an adopted cluster, or None."""
        del settings
        return None

    def account(self, settings: ClusterSettings) -> tuple[str, str | None] | None:
        """Return the key of the account in a cluster's settings and its value; None without accounts."""
        del settings
        return None

    def arguments(self, settings: ClusterSettings) -> Mapping[str, ChartValues]:
        """Return provider arguments that settings pass on unchanged, by pool; "" is the cluster.

        They are merged into the arguments of the component's main resource. A value may be a `StackOutput`.
        """
        del settings
        return {}

    def imagined_devices(
        self, pool: PoolPlan, published: Sequence[NodeDevice]
    ) -> tuple[tuple[NodeDevice, ...], str] | None:
        """Return the devices that the autoscaler predicts for a pool's first node, and why there are none.

        None: it reads devices only from a node that the pool has.

        Args:
            pool: The pool.
            published: Devices that its nodes publish.
        """
        del pool, published
        return None

    def component(self) -> object:
        """Return the component class of a cluster. A cloud of another package overrides this.

        Raises:
            ExpectedError: The cloud has none.
        """
        raise ExpectedError(f"cloud {self.name} has no component: write {type(self).__name__}.component")

    def simulation(self) -> object:
        """Return the simulation that a rehearsal runs. A cloud of another package overrides this.

        Raises:
            ExpectedError: The cloud has none.
        """
        raise ExpectedError(f"cloud {self.name} has no simulation: write {type(self).__name__}.simulation")


@cache
def read_machines(package: str) -> Mapping[str, Machine]:
    """Return the machine types in `machines.yaml` of a cloud's package, by name."""
    from dra_fleet.model.hardware import Machine  # noqa: PLC0415 - a program without machines builds no model

    facts = read(package, "machines.yaml")
    return by_name(Machine.model_validate(entry) for entry in facts["machines"])
