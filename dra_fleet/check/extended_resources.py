"""Devices asked for by the name of an extended resource: which class answers, and how many a node has.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.check.pods import containers
from dra_fleet.check.resources import at, mapping
from dra_fleet.core.findings.errors import choices, mistyped, nearest
from dra_fleet.drivers.operators import unserved
from dra_fleet.kubernetes.cel import asked
from dra_fleet.kubernetes.minors import is_on, on_from

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.pods import Pod
    from dra_fleet.check.references import References
    from dra_fleet.check.resources import FileObject
    from dra_fleet.check.selection import ClassSelection
    from dra_fleet.core.findings.finding import Subject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.drivers import Driver


_MISTYPED = 0.8
"""Least similarity, from 0 to 1, of a name to a known one that counts as a typing error."""


def report_unknown_class(subject: Subject, path: Path, name: str, known: Collection[str]) -> None:
    """Report a class that is not known; it may belong to a driver that the catalogue lacks.

    Args:
        subject: the object that names it.
        path: where.
        name: the class.
        known: the classes that there are.
    """
    owner = drivers.of_class(name)
    if owner is None or not owner.owns_names:
        similar = nearest(name, sorted(known), least=_MISTYPED)
        subject.warning(
            *path,
            rule="class-not-judged",
            what="cannot be checked: it is not a class of the stack, its drivers or the files; another "
            "driver may install it",
            got=name,
            fix=mistyped(name, similar) or "check its DeviceClass together with this file",
        )
        return
    subject.error(
        *path,
        rule="class-unknown",
        what="is neither a class of the stack or of its drivers, nor one of the files checked",
        got=name,
        allowed=choices(name, known),
        fix=f"add {owner.name} to the cluster's drivers",
    )


IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""Prefix that makes an extended resource of the name of any class."""

_GATE = "DRAExtendedResource"


class ExtendedResourceRequest(Struct, frozen=True, kw_only=True):
    """Devices of a class that a container requests by an extended resource.

    `class_name` is empty where device plugins alone answer.
    """

    path: Path
    resource: str
    class_name: str
    count: object


class ExtendedResources:
    """The extended resources of one cluster.

    Args:
        cluster: the cluster.
        selection: the classes, and what they hold.
        classes: the classes of the files.
    """

    def __init__(
        self, cluster: ClusterInventory, selection: ClassSelection, classes: Iterable[FileObject]
    ) -> None:
        self._cluster = cluster
        self._selection = selection
        self._minor = cluster.plan.kubernetes
        self._by_plugin = cluster.plugin_resources
        self._answered = dict(cluster.extended_resources)
        for item in classes if is_on(_GATE, self._minor) else ():
            name = _extended_name(item)
            if not name:
                continue
            other = self._answered.get(name)
            if other is not None and other != item.name:
                item.subject.warning(
                    "spec",
                    "extendedResourceName",
                    rule="extended-resource-twice",
                    what=f"is the name of class {other} too, and the class that was made last answers it",
                    got=name,
                    fix="give it to one class only",
                )
            self._answered[name] = item.name

    def check(self, pod: Pod, references: References) -> list[ExtendedResourceRequest]:
        """Check the extended resources of a pod; return those that a class serves."""
        found: list[ExtendedResourceRequest] = []
        for path, container in containers(pod):
            resources = mapping(container.get("resources"))
            limits, requested = mapping(resources.get("limits")), mapping(resources.get("requests"))
            for name in sorted({*limits, *requested}):
                if name in self._answered or name.startswith(IMPLICIT) or _is_advertised(name):
                    field = "limits" if name in limits else "requests"
                    where = (*path, "resources", field, name)
                    class_name = self._class_of(pod, where, name, limits.get(name, requested.get(name)))
                    if class_name or name in self._by_plugin:
                        _check_pair(pod, where, limits.get(name), requested.get(name))
                        count = (limits | requested)[name]
                        found.append(
                            ExtendedResourceRequest(
                                path=where, resource=name, class_name=class_name, count=count
                            )
                        )
        for item in found:
            self._check_beside(pod, item, references)
        return found

    def pools(self, pod: Pod, asks: Sequence[ExtendedResourceRequest]) -> frozenset[str] | None:
        """Return the pools whose nodes have the devices that a pod requests; None if unknown."""
        served: frozenset[str] | None = None
        for name in dict.fromkeys(item.class_name or item.resource for item in asks):
            items = [item for item in asks if (item.class_name or item.resource) == name]
            most = self._most(name, items)
            if most is None:
                return None
            requested = self._together(pod, items)
            here = frozenset(pool for pool, number in most.items() if number >= requested)
            if not here:
                largest = max(most.values(), default=0)
                pod.resource.subject.error(
                    *items[0].path,
                    rule="not-enough-devices",
                    what=f"requests {requested} devices {self._manner(items[0])} on one node, "
                    f"where at most {largest} match",
                    got=str(items[0].count),
                    fix="ask for fewer, or for a pool with larger machines"
                    if largest
                    else "add a pool that has such devices",
                )
            served = here if served is None else served & here
        return served

    def _is_by_plugin(self, item: ExtendedResourceRequest) -> bool:
        return not item.class_name or item.resource in self._by_plugin

    def _together(self, pod: Pod, items: Sequence[ExtendedResourceRequest]) -> int:
        """Return how many devices a pod needs at the same time.

        Init containers end before the others start, except sidecars. A class serves each container apart.

        Source: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/ (resource sharing).
        """
        first = [item for item in items if self._is_by_plugin(item) and _ends_before(pod, item.path)]
        lasting = sum(_number(item.count) for item in items if item not in first)
        return max(lasting, *(_number(item.count) for item in first), 0)

    def _manner(self, item: ExtendedResourceRequest) -> str:
        return f"by {item.resource}" if self._is_by_plugin(item) else f"of class {item.class_name}"

    def _most(self, name: str, items: Sequence[ExtendedResourceRequest]) -> Mapping[str, int] | None:
        """Per pool how many devices of one node answer; None if unknown."""
        names = {item.resource for item in items}
        plugins = self._by_plugin.get(next(iter(names)), {}) if len(names) == 1 else {}
        if not items[0].class_name:
            return plugins
        most = self._most_of_class(name)
        return None if most is None else {**most, **plugins}

    def _most_of_class(self, name: str) -> dict[str, int] | None:
        if name not in self._selection.classes or name in self._selection.broken:
            return None
        return self._selection.most_of(name)

    def _class_of(self, pod: Pod, where: Path, name: str, count: object) -> str:
        """Return the class that serves an extended resource; report and return "" if there is none."""
        subject = pod.resource.subject
        known = self._selection.known_classes()
        if name.startswith(IMPLICIT) and is_on(_GATE, self._minor):
            class_name = name.removeprefix(IMPLICIT)
            if class_name not in known:
                report_unknown_class(subject, where, class_name, known)
                return ""
            return class_name
        if name in self._answered:
            return self._answered[name]
        if name in self._by_plugin:
            return ""
        domain = name.partition("/")[0]
        advertisers = [item for item in self._cluster.drivers if _advertises(item.driver, name)]
        plugins = any(other.startswith(f"{domain}/") for other in self._by_plugin)
        if name.startswith(IMPLICIT):
            what = f"is answered from Kubernetes {on_from(_GATE)} on, and this cluster runs {self._minor}"
        elif not advertisers:
            subject.warning(
                *where,
                rule="device-plugin",
                what="requests a resource of an unknown device plugin: no pool is known to offer it",
                got=str(count),
                fix="install that plugin's driver on nodes of the cluster, or remove it",
            )
            return ""
        else:
            what = (
                "is not a resource of the device plugins of this stack"
                if plugins
                else "asks a device plugin, and the pools of this stack publish their devices by DRA only"
            )
            what = f"{what}: the pod would wait for ever"
        subject.error(
            *where,
            rule="device-plugin",
            what=what,
            got=str(count),
            allowed=", ".join(sorted({*self._with_devices(), *self._by_plugin}))
            or "no extended resource name on this stack",
            fix="request an allowed resource" if plugins else "use resources.claims with a claim of the pod",
        )
        return ""

    def _with_devices(self) -> list[str]:
        """Return the names whose class holds devices, or is not known to hold none."""
        most = {name: self._most_of_class(class_name) for name, class_name in self._answered.items()}
        return [name for name, numbers in most.items() if numbers is None or any(numbers.values())]

    def _check_beside(self, pod: Pod, item: ExtendedResourceRequest, references: References) -> None:
        """Report claims of the pod for the same driver's devices."""
        texts = self._selection.classes.get(item.class_name, ())
        requested = {name for text in texts for name in asked(text).drivers}
        claims = [references.of(key) for key in pod.keys.values()]
        if any(claim is not None and claim.drivers and claim.drivers & requested for claim in claims):
            pod.resource.subject.warning(
                *item.path,
                rule="extended-resource-beside-claim",
                what=f"makes a second claim, of class {item.class_name}, besides the pod's own",
                got=str(item.count),
                fix="remove it, or the pod's resourceClaims",
            )


def _advertises(driver: Driver, name: str) -> bool:
    """Return True if a device plugin for a driver's devices advertises a resource."""
    plugin, others = driver.resources.device_plugin, driver.resources.other_plugins
    plugins = others if plugin is None else (plugin, *others)
    return name == driver.extended_resource or any(one.limits.fullmatch(name) for one in plugins)


def _is_advertised(name: str) -> bool:
    """Return True if a device plugin for the devices of a known or unserved driver advertises a resource."""
    return any(_advertises(one, name) for one in drivers.known()) or any(
        one.limits.fullmatch(name) for one in unserved().values()
    )


def _check_pair(pod: Pod, where: Path, limit: object, request: object) -> None:
    """Check that a limit equals the request: core/v1 does not overcommit extended resources."""
    if limit is None or (request is not None and str(limit) != str(request)):
        pod.resource.subject.error(
            *where,
            rule="extended-resource-pair",
            what="must have a limit" if limit is None else "must be the same in limits and requests",
            got=f"requests {request}" if limit is None else f"limits {limit}, requests {request}",
            fix=f"limits: {{{where[-1]}: {request}}}",
        )


def _extended_name(item: FileObject) -> str:
    name = at(item.value, ("spec", "extendedResourceName"))
    return name if isinstance(name, str) else ""


def _ends_before(pod: Pod, path: Path) -> bool:
    holder, container = path[: len(pod.path) + 1], path[: len(pod.path) + 2]
    policy = at(pod.resource.value, (*container, "restartPolicy"))
    return holder[-1] == "initContainers" and policy != "Always"


def _number(count: object) -> int:
    text = str(count)
    return int(text) if text.isdigit() else 1
