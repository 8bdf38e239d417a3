"""DRA drivers: their charts, what the charts install, and what the drivers publish."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field

from dra_fleet.core.facts import EXAMPLE, Entry, Fact, is_chart_version, read
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.drivers.common.parameters import ParameterKind

ValueType = Literal[
    "string",
    "quoted",
    "integer",
    "boolean",
    "list",
    "map",
    "booleans",
    "count",
    "port",
    "verbosity",
    "pullPolicy",
    "updateStrategy",
    "migStrategy",
    "updateWay",
    "extendedResource",
    "nodeSelector",
    "affinity",
    "annotations",
    "resources",
    "securityContext",
    "environment",
    "pullSecrets",
    "probePort",
    "directory",
    "duration",
    "imageTag",
    "imageRepository",
    "namespace",
    "objectName",
    "tolerations",
    "cpuSet",
]
"""The type of a chart value; `booleans` is a map of names to booleans. `quoted` is text that the chart itself
puts in quotes, so that it may be a number. `map` and `list` are free inside; what
the types named for what they hold take, `value_types` says. `updateStrategy` is a DaemonSet's."""
AttributeType = Literal["string", "int", "bool", "version"]


class PluginDemand(Fact):
    """A label that a chart has its plugin demand of nodes by a value that is neither selector nor affinity.

    `key`: the value: a list of what the label may be, or a switch for `only`. `unless`: a value by which it
    is another label. `sets_label`: the value also installs a rule by which nodes with devices get the label.
    """

    key: str
    label: str
    only: str = ""
    unless: str = ""
    sets_label: bool = False


def _whole(version: str) -> str:
    if not is_chart_version(version):
        raise ValueError(f"must be {EXAMPLE}")
    return version


class ChartVersion(Entry):
    """A version of a chart: the dotted keys of its values, with their types.

    `plugin_tolerations`: the chart's own default of its plugin's tolerations; `fixed_tolerations`: those
    that its plugin has whatever the values say. `chooses_nodes`: its values say on which nodes its plugin
    runs; `plugin_demands`: further such values. `controller_needs_control_plane`: its default affinity keeps
    the controller to control-plane nodes. `extended_resources`: extended resource names, each with the class
    of the chart that answers it. `needs_apis`: the API versions that its cluster must serve, beside
    resource.k8s.io/v1. `generations`: the generations of hardware whose devices its plugin finds; none where
    that is not known. `partition_names`: whether a MIG partition's device is named by its profile,
    gpu-0-mig-1g5gb-19-0, or by its placement, gpu-0-mig-19-0-1. `announces_partitioned_gpus`: a GPU is
    published beside its partitions. `checked_by`: the version whose facts these are, where nothing is known
    of this one. `like`: the version whose facts these are too. `refused_values`: values of older charts with
    which this one refuses to install, each with what to do instead. `ignored_values`: values of older charts
    that this one ignores, each with what to write instead. `closed_sections`: sections of the values, "" for
    all of them, in which the chart's values.schema.json allows no key but the known ones; its values must
    have the exact type. `copied_sections`: sections that the chart copies into an object as a whole, of which
    the API server drops unknown fields. `refused_together`: values with which the chart refuses to install,
    the one to change first; a list or mapping counts as true unless it is empty. `defaults`: those of them
    that are true by default.
    """

    version: Annotated[str, AfterValidator(_whole)]
    chart: str
    repository: str
    verified: bool
    values: Mapping[str, ValueType]
    refused_values: Mapping[str, str] = Field(default_factory=dict)
    ignored_values: Mapping[str, str] = Field(default_factory=dict)
    closed_sections: tuple[str, ...] = ()
    copied_sections: tuple[str, ...] = ()
    refused_together: tuple[Mapping[str, bool], ...] = ()
    defaults: Mapping[str, bool] = Field(default_factory=dict)
    feature_gates: Mapping[str, bool]
    classes: tuple[str, ...]
    plugin_tolerations: tuple[Mapping[str, str], ...] = ()
    fixed_tolerations: tuple[Mapping[str, str], ...] = ()
    chooses_nodes: bool = True
    plugin_demands: tuple[PluginDemand, ...] = ()
    controller_needs_control_plane: bool = False
    extended_resources: Mapping[str, str] = Field(default_factory=dict)
    needs_apis: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    partition_names: Literal["profile", "placement"] = "profile"
    announces_partitioned_gpus: bool = False
    checked_by: str = ""
    like: str = ""

    @property
    def unjudged(self) -> str:
        """Checks that are skipped because the version is unknown."""
        return (
            f"is not known to this program: values, defaults, feature gates, classes and what it publishes "
            f"are checked by {self.checked_by}, the newest known before it, and values that one would refuse "
            "are warnings"
        )


VersionT = TypeVar("VersionT", bound=ChartVersion)


def version_of(known: Iterable[VersionT], requested: str) -> VersionT | None:
    """Return the entry of a chart version; for an unknown version, the facts of the newest known before it.

    Args:
        known: the entries.
        requested: the version.

    Returns:
        The entry; None if the version is not a full version, is older than all known ones, or is a
        known one but for a v.
    """
    entries = list(known)
    exact = next((entry for entry in entries if entry.version == requested), None)
    if exact is not None or not is_chart_version(requested):
        return exact
    if any(entry.version.lstrip("v") == requested.lstrip("v") for entry in entries):
        return None
    older = [entry for entry in entries if version_order(entry.version) < version_order(requested)]
    if not older:
        return None
    nearest = max(older, key=lambda entry: version_order(entry.version))
    return nearest.model_copy(update={"version": requested, "checked_by": nearest.version, "verified": False})


def version_order(version: str) -> tuple[int, ...]:
    """Return the three numbers of a version, for comparisons."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


class GateConflict(Fact):
    """Two feature gates of a driver that cannot be on together, or one that needs another.

    `since`: the first chart version whose driver refuses it; None where every one with the gates does.
    """

    gate: str
    other: str
    rule: Literal["excludes", "requires"]
    since: str | None = None


class PublishedAttribute(Fact):
    """An attribute and the device types that always or sometimes carry it.

    `since` and `until`: the first and the last chart version whose driver publishes it; None without bound.
    `always_since`: the first whose driver publishes no device without it, where it was published before.
    """

    name: str
    type: AttributeType
    always: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    always_since: str | None = None


class PublishedCapacity(Fact):
    """A capacity and the device types that always or sometimes carry it."""

    name: str
    always: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()


class AdminAccess(Fact):
    """Requirements of a driver for admin access: devices of these types, without configuration.

    `since`: the first chart version whose driver refuses others.
    """

    since: str
    device_types: tuple[str, ...]


class DriverFacts(Entry):
    """A DRA driver.

    `plugin_labels`: node labels of which the chart's default affinity needs one.
    `health_taints`: keys of the device taints by which the driver says that a device is not healthy.
    `sharing_gates`: the driver's own feature gate for each sharing strategy of its opaque configuration.
    `parameters`: the kinds of opaque parameters that it decodes; empty where it reads none, None where that
    is not known.
    `qualified_keys`: in ResourceSlices, each key without a domain here has the driver's name as its domain.
    """

    name: str
    driver: str
    qualified_keys: bool = False
    namespace: str
    device_types: tuple[str, ...]
    health_taints: tuple[str, ...] = ()
    sharing_gates: Mapping[str, str] = Field(default_factory=dict)
    admin_access: AdminAccess | None = None
    gate_conflicts: tuple[GateConflict, ...] = ()
    attributes: tuple[PublishedAttribute, ...]
    capacities: tuple[PublishedCapacity, ...]
    class_selectors: Mapping[str, str] = Field(default_factory=dict)
    """CEL of the DeviceClasses that the charts install, by name."""
    class_remedies: Mapping[str, str] = Field(default_factory=dict)
    """Steps after which the driver publishes devices of a class, if a machine is not enough."""
    plugin_labels: Mapping[str, str] = Field(default_factory=dict)
    parameters: tuple[ParameterKind, ...] | None = None
    versions: tuple[ChartVersion, ...]

    def key(self, name: str) -> str:
        """Return the key of an attribute or capacity as the driver writes it into ResourceSlices.

        Selectors resolve both forms. Capacity requests need the written one: the allocator compares their
        keys literally (https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/structured/internal/incubating/consumable_capacity.go).
        """
        identity = name.removeprefix(f"{self.driver}/")
        return f"{self.driver}/{identity}" if self.qualified_keys and "/" not in identity else identity

    def version(self, version: str) -> ChartVersion | None:
        """Return the entry of a chart version, if it is known."""
        return next((entry for entry in self.versions if entry.version == version), None)

    def checked_version(self, version: str) -> ChartVersion | None:
        """Return the entry of a chart version.

        For an unknown version, the facts of the newest known before it.
        """
        return version_of(self.versions, version)

    def surely_in(self, version: str) -> frozenset[str]:
        """Return the attributes that every device has from some chart version on, this version included."""
        place = self._place(version)
        return frozenset(
            item.name
            for item in self.attributes
            if item.always_since is not None and self._place(item.always_since) <= place
        )

    def attributes_in(self, version: str) -> frozenset[str]:
        """Return the names of the attributes that a chart version's driver publishes on some device."""
        place = self._place(version)
        return frozenset(
            item.name
            for item in self.attributes
            if (item.since is None or self._place(item.since) <= place)
            and (item.until is None or place <= self._place(item.until))
        )

    def always_in(self, version: str) -> Mapping[str, AttributeType]:
        """Return the attributes that a chart version's driver publishes on all devices, with their types."""
        published = self.attributes_in(version)
        return {
            item.name: item.type
            for item in self.attributes
            if item.name in published and {*self.device_types} <= {*item.always}
        }

    def gate_conflicts_in(self, version: str) -> Sequence[GateConflict]:
        """Return the conflicts of feature gates that a chart version's driver rejects at start."""
        place = self._place(version)
        return [
            item for item in self.gate_conflicts if item.since is None or self._place(item.since) <= place
        ]

    def is_older(self, version: str, than: str) -> bool:
        """Return True if one chart version is older than another; False if either position is unknown."""
        known = self.checked_version(version), self.checked_version(than)
        return None not in known and self._place(version) < self._place(than)

    def _place(self, version: str) -> int:
        """Return the position of a version among the known ones, the oldest first.

        Raises:
            ValueError: It is not a version, or older than all.
        """
        versions = [known.version for known in self.versions]
        entry = self.checked_version(version) if version not in versions else None
        return versions.index(entry.checked_by if entry is not None else version)

    def parameters_in(self, version: str) -> tuple[ParameterKind, ...]:
        """Return the kinds of parameters that a chart version's driver decodes."""
        return tuple(
            kind
            for kind in self.parameters or ()
            if kind.since is None or not self.is_older(version, kind.since)
        )

    @cached_property
    def owned_classes(self) -> frozenset[str]:
        """Every DeviceClass name that some version of the chart installs."""
        return frozenset(name for version in self.versions for name in version.classes)


@cache
def driver_facts(name: str, package: str) -> DriverFacts:
    """Return the facts of a driver's `driver.yaml`.

    Raises:
        ExpectedError: The driver's package has no such file.
    """
    try:
        return DriverFacts.model_validate(read(package, "driver.yaml"))
    except FileNotFoundError:
        missing = f"driver {name} has no facts: write {package.replace('.', '/')}/driver.yaml"
        raise ExpectedError(missing) from None
