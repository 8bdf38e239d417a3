"""Helm charts as Pulumi programs install them: releases, Argo CD, Flux, and an operator's own object.

The components helm.sh/v3 and v4 Chart register no inputs: the objects that they render are checked by what
they are, like those of any other program.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.clouds.pools import steps
from dra_fleet.policy.reading.chart_files import (
    NOT_AT_HAND,
    at_path,
    file_contents,
    from_text,
    layered,
    with_defaults,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts
    from dra_fleet.drivers.resources import Operator
    from dra_fleet.policy.reading.chart_files import ChartFiles, SubChart


PACKED: Final = re.compile(r"(?P<name>.+?)(-(?P<version>v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*))?\.tgz(\?.*)?")
"""A packed chart, as `helm package` names it."""


def own_name(chart: str) -> str:
    """Return the last part of a chart's path, address or `repo/chart`, without tag, digest and extension."""
    last = chart.rsplit("/", 1)[-1].partition("@")[0].partition(":")[0]
    packed = PACKED.fullmatch(last)
    return last if packed is None else packed["name"]


class ChartForm(Struct, frozen=True, kw_only=True):
    """A resource type that installs charts. Paths are dotted; `*` stands for each item of a list.

    Attributes:
        types: the resource's type token.
        charts: the places that name a chart each; empty where the resource is one. What follows lies below,
            but the namespace.
        chart: the chart: a name, an address or a path, by the first of these fields that is given.
        version: its version.
        repository: its address.
        values: its values, a map or YAML text, each laid over those before.
        parameters: single values by dotted names, as items or a map, laid over all others; empty for none.
        archive: the place of a packed chart in base64; empty if the type has none.
        here: a relative path without a repository is a folder of the program.
        files: further values below all others, as files; empty where there are none.
        namespace: where its objects are made, from the resource.
        changed: what changes its values or its objects in ways that nothing reports, where it is given.
    """

    types: re.Pattern[str]
    charts: tuple[str, ...] = ("",)
    chart: tuple[str, ...] = ("chart",)
    version: str = "version"
    repository: str
    values: tuple[str, ...] = ("values",)
    parameters: str = ""
    archive: str = ""
    here: bool = False
    files: str
    namespace: str
    changed: tuple[str, ...] = ()


FORMS: Final = (
    # https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/
    ChartForm(
        types=re.compile(r"kubernetes:helm\.sh/v3:Release"),
        repository="repositoryOpts.repo",
        files="valueYamlFiles",
        here=True,
        changed=("postrender", "reuseValues"),
        namespace="namespace",
    ),
    # https://argo-cd.readthedocs.io/en/stable/operator-manual/application.yaml
    *(
        ChartForm(
            types=re.compile(rf"kubernetes:argoproj\.io/v1alpha1:{kind}(Patch)?"),
            charts=(f"{spec}.source", f"{spec}.sources.*"),
            chart=("chart", "path"),
            version="targetRevision",
            repository="repoURL",
            values=("helm.values", "helm.valuesObject"),
            parameters="helm.parameters",
            files="helm.valueFiles",
            changed=("helm.fileParameters.*",),
            namespace=f"{spec}.destination.namespace",
        )
        for kind, spec in (("Application", "spec"), ("ApplicationSet", "spec.template.spec"))
    ),
    # https://fluxcd.io/flux/components/helm/helmreleases/
    ChartForm(
        types=re.compile(r"kubernetes:helm\.toolkit\.fluxcd\.io/v\w+:HelmRelease(Patch)?"),
        charts=("spec",),
        chart=("chart.spec.chart", "chartRef.name"),
        version="chart.spec.version",
        repository="chart.spec.sourceRef.name",
        files="valuesFrom",
        changed=("postRenderers.*",),
        namespace="spec.targetNamespace",
    ),
    # https://docs.k3s.io/add-ons/helm
    ChartForm(
        types=re.compile(r"kubernetes:helm\.cattle\.io/v1:HelmChart(Patch)?"),
        charts=("spec",),
        repository="repo",
        values=("valuesContent", "values"),
        parameters="set",
        archive="chartContent",
        files="valuesSecrets",
        namespace="spec.targetNamespace",
    ),
    # https://fluxcd.io/flux/components/source/ocirepositories/
    ChartForm(
        types=re.compile(r"kubernetes:source\.toolkit\.fluxcd\.io/v\w+:OCIRepository(Patch)?"),
        charts=("spec",),
        chart=("url",),
        version="ref.tag",
        repository="url",
        values=(),
        files="",
        namespace="metadata.namespace",
    ),
)

CHART_TYPES: Final = re.compile(r"kubernetes:helm\.sh/v[34]:Chart")
"""The components that render a chart's objects as children."""

RELEASE_TYPES: Final = re.compile("|".join(form.types.pattern for form in FORMS))
"""Resource types that name a chart with its values."""

_POLICIES: Final = [
    driver.resources.operator for driver in drivers.known() if driver.resources.operator is not None
]

INSTALLED_TYPES: Final = re.compile(
    "|".join([RELEASE_TYPES.pattern, *(each.policies.pattern for each in _POLICIES)])
)
"""The same, and what reports an operator what to do."""

_VERSION_PREFIX: Final = "v"

_EXACT: Final = re.compile(r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
"""A whole version of https://semver.org; anything shorter or with an operator is a range to Helm."""

_NAME_AND_VERSION: Final = re.compile(r"(?P<name>.+?)-(?P<version>v?\d+\.\d+\.\d+.*)")

_LABEL: Final = "helm.sh/chart"
"""https://helm.sh/docs/chart_best_practices/labels/"""

RENDERED_TYPES: Final = re.compile(r"kubernetes:apps/v\w+:DaemonSet")
"""Rendered objects of a chart that advertise devices."""

_DIGEST: Final = re.compile(r"oci://.*@sha256:[0-9a-f]{64}")

_LOCAL: Final = (".", "/", "file://")
_OCI: Final = "oci://"
_DEEPEST: Final = 5
"""Charts in charts in charts."""


class ChartRelease(Struct, frozen=True, kw_only=True, dict=True):
    """An installed chart; values are read at first use.

    Attributes:
        chart_name: the chart's own name: as its Chart.yaml says it, else the last part of a path, an OCI
            address or `repo/chart`; empty if unknown.
        chart: the chart as given.
        version: its version as given.
        repository: the address of the chart's repository.
        namespace: the namespace it is installed into.
        values: its values, from all the places where they are given.
        version_inside: the version that the chart itself says; empty where it is not at hand.
        files: the chart's own files, if it is at hand.
        missing: its path in the program, if nothing is there.
        unread: the files with values that cannot be read here, and what changes values unseen.
    """

    resource: Resource
    chart_name: str
    chart: Value
    version: Value
    repository: Value
    namespace: Value
    values: Value
    version_inside: str = ""
    unread: tuple[Value, ...] = ()
    files: ChartFiles = NOT_AT_HAND
    missing: str = ""

    @property
    def version_text(self) -> str:
        """The version, or the tag of an OCI address, without a leading v; empty if absent or unknown."""
        tag = (self.chart.text or "").rsplit("/", 1)[-1].partition("@")[0].partition(":")[2]
        packed = PACKED.fullmatch((self.chart.text or "").rsplit("/", 1)[-1])
        inside = self.version_inside or (packed["version"] or "" if packed is not None else "")
        return (inside or self.version.text or tag).removeprefix(_VERSION_PREFIX)

    @property
    def is_pinned(self) -> bool:
        """True if the chart can never change: a whole version, a digest, or a folder of the project."""
        chart = self.chart.text or ""
        if self.files or chart.startswith(_LOCAL) or _DIGEST.fullmatch(chart):
            return True
        return _EXACT.fullmatch(self.version_text) is not None

    def value(self, dotted: str) -> Value:
        """Return the value at a dotted key, such as `resources.gpus.enabled`; absent means the default.

        A chart at hand says its defaults in its values.yaml.
        """
        value = self.values.get(*dotted.split("."))
        own = self.files.values.get(*dotted.split("."))
        return own if own.possible and not value.possible else value

    @cached_property
    def installs(self) -> Driver | None:
        """The DRA driver that the chart installs, in any version; None for other charts."""
        return next(
            (
                driver
                for driver in drivers.known()
                if any(own_name(version.chart) == self.chart_name for version in driver.facts.versions)
            ),
            None,
        )

    @property
    def driver(self) -> DriverFacts | None:
        """The facts of the DRA driver that the chart installs; None for other charts."""
        return None if self.installs is None else self.installs.facts

    @cached_property
    def operator(self) -> Operator | None:
        """Operator of a DRA driver that the chart installs; None for other charts."""
        return next((each for each in _POLICIES if each.chart == self.chart_name), None)

    @property
    def driver_version(self) -> ChartVersion | None:
        """The facts of the very version of a DRA driver's chart; None if it is not known to the catalogue."""
        driver = self.driver
        return None if driver is None else driver.version(self.version_text)

    @property
    def catalogued(self) -> list[ChartVersion]:
        """The facts of each known version of this chart, the newest last; none of other charts."""
        if self.operator is not None:
            return list(self.operator.versions())
        versions = () if self.driver is None else self.driver.versions
        return [known for known in versions if own_name(known.chart) == self.chart_name]

    @property
    def known_version(self) -> ChartVersion | None:
        """The facts of the very version of a DRA driver's or an operator's chart; None if not known."""
        if self.operator is None:
            return self.driver_version
        reported = self.version_text
        return next(
            (each for each in self.catalogued if each.version.removeprefix(_VERSION_PREFIX) == reported), None
        )

    @property
    def nearest_version(self) -> ChartVersion | None:
        """The newest known version that is not newer than this one, else the oldest; None of other charts."""
        reported, known = _order(self.version_text), self.catalogued
        older = [each for each in known if not reported or _order(each.version) <= reported]
        return older[-1] if older else next(iter(known), None)

    @property
    def known_versions(self) -> list[str]:
        """The versions of this chart that are known, the newest last; none of other charts."""
        return [known.version for known in self.catalogued]


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def release(resource: Resource) -> ChartRelease | None:
    """Return the chart that a resource installs, the first known one of several; None for other resources."""
    found = list(releases(resource))
    known = (each for each in found if each.installs is not None or each.operator is not None)
    return next(known, found[0] if found else None)


def releases(resource: Resource) -> Iterator[ChartRelease]:
    """Yield the charts that a resource installs, with the dependencies of the project's charts.

    An unknown chart name is noted.
    """
    for form in FORMS:
        if form.types.fullmatch(resource.type) is not None:
            for holder in form.charts:
                for at in resource.properties.every(*steps(holder)):
                    if at.possible:
                        yield from _read(resource, form, at)
    for operator in _POLICIES:
        if operator.policies.fullmatch(resource.type) is not None:
            yield _of_policy(resource, operator)


def _read(resource: Resource, form: ChartForm, at: Value) -> Iterator[ChartRelease]:
    places = [at.get(*steps(field)) for field in form.chart]
    chart = next((place for place in places if place.possible), places[0])
    said, repository = (chart.text or "").rstrip("/"), at.get(*steps(form.repository))
    if (repository.text or "").startswith(_OCI) and said in ("", "."):
        chart, said = repository, (repository.text or "").rstrip("/")  # Argo CD names a chart by its address
    path = (
        said
        if said.startswith(_LOCAL) or (form.here and not repository.possible and "://" not in said)
        else ""
    )
    inside = from_text(at.get(*steps(form.archive)).text or "") if form.archive else NOT_AT_HAND
    inside = inside or (at_path(path) if path else NOT_AT_HAND)
    files = at.get(*steps(form.files)).items if form.files else []
    values = layered(
        files,
        [at.get(*steps(field)) for field in form.values] or [at.get("", "")],
        at.get(*steps(form.parameters)) if form.parameters else at.get("", ""),
        resource.unknowns,
    )
    installed = ChartRelease(
        resource=resource,
        chart_name=known_name(inside.metadata.get("name").text or own_name(said), values),
        chart=chart,
        version=at.get(*steps(form.version)),
        repository=repository,
        namespace=resource.get(*steps(form.namespace)),
        values=values,
        version_inside=inside.metadata.get("version").text or "",
        unread=(
            *(file for file in files if file_contents(file) is None),
            *(
                each
                for field in form.changed
                for each in at.every(*steps(field))
                if each.possible and each.peek
            ),
        ),
        files=inside,
        missing=path if path.startswith(_LOCAL) and not inside else "",
    )
    yield from _with_sub_charts(installed, 0)


def is_of_no_driver(installed: ChartRelease) -> bool:
    """Return whether no driver knows a chart, by its name or by its values."""
    return not is_known(installed.chart_name)


def _with_sub_charts(installed: ChartRelease, depth: int) -> Iterator[ChartRelease]:
    """Return a chart and those that it installs, as far as they are at hand."""
    yield installed
    if depth < _DEEPEST and installed.files:
        values = with_defaults(installed.files, installed.values)
        for sub in installed.files.sub_charts(values):
            if sub.enabled:
                yield from _with_sub_charts(_sub_chart(installed, sub, values), depth + 1)


def _sub_chart(by: ChartRelease, sub: SubChart, values: Value) -> ChartRelease:
    """Return a chart that another one installs: its values are below its key in the other's."""
    inside = sub.files.metadata
    own = values.get(sub.key)
    return ChartRelease(
        resource=by.resource,
        chart_name=known_name(inside.get("name").text or sub.metadata.get("name").text or sub.key, own),
        chart=by.chart,
        version=by.version,
        repository=by.repository,
        namespace=by.namespace,
        values=own,
        version_inside=inside.get("version").text or sub.metadata.get("version").text or "",
        unread=by.unread,
        files=sub.files,
    )


def _of_policy(resource: Resource, operator: Operator) -> ChartRelease:
    label = resource.get("metadata", "labels", _LABEL)
    return ChartRelease(
        resource=resource,
        chart_name=operator.chart,
        chart=label,
        version=label,
        repository=resource.get("", ""),
        namespace=resource.get("metadata", "namespace"),
        values=resource.get("spec"),
        version_inside=(label.text or "").removeprefix(f"{operator.chart}-"),
    )


def is_rendered(resource: Resource) -> bool:
    """Return whether a component that renders a chart's objects made a resource."""
    types = resource.urn.split("::", 3)[2:3]
    return any(CHART_TYPES.fullmatch(above) for each in types for above in each.split("$")[:-1])


def rendered(resource: Resource) -> ChartRelease | None:
    """Return the chart in a DaemonSet's labels, without its values; None without such labels."""
    label = resource.get("metadata", "labels", _LABEL)
    name = _NAME_AND_VERSION.fullmatch(label.peek if isinstance(label.peek, str) else "")
    if name is None:
        return None
    nothing = resource.get("", "")
    return ChartRelease(
        resource=resource,
        chart_name=name["name"],
        chart=label,
        version=label,
        repository=nothing,
        namespace=resource.get("metadata", "namespace"),
        values=nothing,
        version_inside=name["version"],
    )


def known_name(name: str, values: Value) -> str:
    """Return a chart's name, or the name of the known chart that its values belong to."""
    if is_known(name):
        return name
    for driver in drivers.known():
        for reported in driver.resources.known_by_values:
            if sum(values.get(*steps(key)).peek is not None for key in reported.keys) >= reported.enough:
                return reported.chart
    return name


def is_known(name: str) -> bool:
    """Return whether a driver knows a chart by this name."""
    for driver in drivers.known():
        resources = driver.resources
        own = [own_name(version.chart) for version in driver.facts.versions]
        own += [each.chart for each in (resources.operator, resources.device_plugin) if each is not None]
        own += [chart for each in resources.other_plugins for chart in each.charts]
        if name in own or name in resources.discovery_charts | resources.other_charts:
            return True
    return False
