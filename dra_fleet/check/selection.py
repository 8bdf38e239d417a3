"""Devices that the classes and claims of files select, among those that the fleet's pools will publish."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct, field

from dra_fleet import drivers
from dra_fleet.check.device_objects import class_name, expressions, requests
from dra_fleet.check.extended_resources import report_unknown_class
from dra_fleet.check.resources import Key, at, mapping
from dra_fleet.check.selectors import (
    FOREIGN,
    STANDARD,
    Checked,
    Programs,
    check,
    compiled,
    corrected,
    counted,
    devices,
    guarded_by_driver,
    guarded_by_presence,
    never_published,
    of_type,
    verdict,
    why_none,
)
from dra_fleet.drivers.divided_devices import names_partitions
from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, asked, environment
from dra_fleet.kubernetes.devices.names import dns_subdomain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.check.device_objects import ClassRequest
    from dra_fleet.check.inventory import ClusterInventory, FleetDevice
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Subject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.kubernetes.cel.program import DeviceCel, Program

    class _Report(Protocol):
        def __call__(
            self, *path: str | int, rule: str, what: str, got: str = "", allowed: str = "", fix: str = ""
        ) -> None: ...


_HELM_RELEASE: Final = "meta.helm.sh/release-name"
"""Helm writes this annotation: https://github.com/helm/helm/blob/v3.19.0/pkg/action/validate.go."""


def _unformatted(expression: str) -> str:
    return "".join(expression.split()).replace('"', "'")


def report_part(resource: FileObject, request: ClassRequest, checked: Sequence[Checked]) -> None:
    """Report a request for a part of a device if the matching devices cannot be shared."""
    parts = mapping(at(request.value, ("capacity", "requests")))
    matching = _matching(checked)
    whole = [item for item in matching if not item.published.get("allowMultipleAllocations")]
    if parts and matching and len(whole) == len(matching):
        resource.subject.warning(
            *request.path,
            "capacity",
            rule="part-of-device",
            what="requests a part, but these devices cannot be shared: the claim holds a whole one of "
            f"{counted(whole)}",
            got=", ".join(f"{name}: {amount}" for name, amount in parts.items()),
            fix=_shared_by(matching[0].cel.driver),
        )


def _shared_by(publisher: str) -> str:
    driver = drivers.publishing(publisher)
    value = driver.sharing_value if driver is not None else ""
    fix = f"let the driver share its devices{f' ({value})' if value else ''}"
    is_dividable = driver is not None and driver.resources.dividable is not None
    return f"ask for a MIG partition, or {fix}" if is_dividable else fix


def report_chips(resource: FileObject, asked_for: Sequence[tuple[ClassRequest, Sequence[Checked]]]) -> None:
    """Report claims for some devices of a node whose driver prepares all of them for one claim, or none.

    All requests of a claim count together; of a request's alternatives the first.

    Args:
        resource: the claim or template.
        asked_for: its requests, with what their selectors say of each device.
    """
    for driver in drivers.known():
        if not driver.prepared_together:
            continue
        of_request: dict[str, ClassRequest] = {}
        per_pool = Counter[str]()
        for request, answers in asked_for:
            matching = [item for item in _matching(answers) if item.cel.driver in driver.publishers]
            if matching and request.name not in of_request:
                of_request[request.name] = request
                per_pool |= Counter(item.pool for item in matching)
        found = list(of_request.values())
        counts = [request.value.get("count", 1) for request in found]
        takes_all = any(request.value.get("allocationMode") == "All" for request in found)
        if not found or takes_all or not all(isinstance(one, int) for one in counts):
            continue
        count, request = sum(counts), found[0]
        if count in per_pool.values():
            continue
        chips = " or ".join(str(number) for number in sorted(set(per_pool.values())))
        resource.subject.error(
            *request.path,
            rule="chips-apart",
            what=f"takes {count} of the {chips} {driver.prepared_together} of a node, which the driver "
            "prepares all together for one claim",
            got=str(count),
            allowed=f"{chips}, or allocationMode: All",
            fix="allocationMode: All, without count",
        )


# Report a selector that fails instead of answering, with the fix.
#
# An error is no "does not match": it aborts the scheduling of the pod on all nodes
# (https://github.com/kubernetes/kubernetes/issues/135184).


def check_robustness(
    clusters: Sequence[ClusterInventory],
    subject: Subject,
    own: Sequence[tuple[Path, str]],
    found: Programs,
    checked: Sequence[Checked],
) -> None:
    """Report evaluation errors: on own devices, on third-party ones, on those that lack an attribute.

    Args:
        clusters: the clusters.
        subject: the object that holds the selectors.
        own: its selectors with their places.
        found: all selectors as they are evaluated on each cluster.
        checked: what they say of each device.
    """
    places = {text: path for path, text in own}
    failed = [item for item in checked if item.verdict.outcome == "error"]
    if failed:
        _report_failure(subject, places, failed[0], environment(clusters[0].plan.kubernetes))
        return
    _warn_never_published(subject, own, found)
    for programs in found.values():
        outcome, program = verdict(programs, FOREIGN)
        if outcome.outcome == "error" and program is not None and program.expression in places:
            _warn_foreign(subject, places[program.expression], program)
            return
    for cluster in clusters:
        for device in devices([cluster]) if cluster.plan.name in found else ():
            outcome, program = verdict(found[cluster.plan.name], device.bare)
            if outcome.outcome == "error" and program is not None and program.expression in places:
                _warn_optional(subject, places[program.expression], program, device, outcome.message)
                return


_GPU, _MIG = "gpu", "mig"


def check_class_width(
    clusters: Sequence[ClusterInventory],
    resource: FileObject,
    own: Sequence[tuple[Path, str]],
    found: Programs,
) -> None:
    """Report a class that is named for partitions and selects whole GPUs."""
    whole = _whole_gpus(clusters, found, resource.name)
    if whole:
        path, expression = own[-1]
        fix = of_type(expression, whole[0].cel.driver, _MIG)
        resource.subject.error(*path, rule="class-too-wide", what=_too_wide(whole), got=expression, fix=fix)


def check_claim_width(
    clusters: Sequence[ClusterInventory], resource: FileObject, request: ClassRequest, found: Programs
) -> None:
    """Report a claim that is named for partitions and requests a class of whole GPUs."""
    name = class_name(request)
    whole = [] if names_partitions(name) else _whole_gpus(clusters, found, resource.name)
    if whole:
        driver = drivers.publishing(whole[0].cel.driver)
        dividable = driver.resources.dividable if driver is not None else None
        fix = f"use the class {dividable.partition_class}" if dividable is not None else ""
        path = (*request.path, "deviceClassName")
        resource.subject.error(*path, rule="class-too-wide", what=_too_wide(whole), got=name, fix=fix)


class ClassSelection(Struct, frozen=True, kw_only=True, dict=True):
    """The classes known to the stack and to the files, and what was found wrong with them.

    Args:
        clusters: the clusters that are checked.
        others: the stack's other clusters, where a class that matches nothing here may be meant for.
        declared: expressions of the classes of the files, by name.
        broken: names of classes of the files of which something was reported already.
        chosen: per claim or template, the pools that can serve all its requests.
        unjudged: the claims and templates of which a class or a driver is not known.
    """

    clusters: tuple[ClusterInventory, ...]
    others: tuple[ClusterInventory, ...] = ()
    declared: Mapping[str, tuple[str, ...]]
    broken: set[str] = field(default_factory=set[str])
    chosen: dict[Key, frozenset[str]] = field(default_factory=dict[Key, frozenset[str]])
    unjudged: set[Key] = field(default_factory=set[Key])

    def check_class(self, resource: FileObject) -> None:
        """Check a class: its selectors, and the kind of devices it selects."""
        subject = resource.subject
        is_of_chart = self._is_of_chart(resource)
        before = _errors(subject)
        own = list(expressions(resource, ("spec",)))
        found = self._compiled(resource, ("spec",))
        if all(text.strip() == "true" for _, text in own) and not subject.has_errors:
            reason = "its selector is always true" if own else "has no selector"
            what = f"{reason}, so that it holds every device of every driver"
            subject.warning(
                "spec", rule="class-without-selector", what=what, fix="select by device.driver at least"
            )
        elif own and found:
            checked = self._checked(found)
            check_robustness(self.clusters, subject, own, found, checked)
            if _errors(subject) == before and not is_of_chart:
                is_elsewhere = self._matches_elsewhere([text for _, text in own])
                if not is_elsewhere:
                    self._check_any(subject, own[0][0], checked, self._doubts(found))
                check_class_width(self.clusters, resource, own, found)
        if _errors(subject) > before:
            self.broken.add(resource.name)

    def _is_of_chart(self, resource: FileObject) -> bool:
        owner = next((item for item in self._installed if resource.name in item.version.classes), None)
        if owner is None or _is_written_by_helm(resource):
            return owner is not None
        selector = owner.driver.classes(owner).get(resource.name, "")
        texts = self.declared.get(resource.name, ())
        is_same = [_unformatted(text) for text in texts] == [_unformatted(selector)]
        # A cluster with its own drivers may get the class from the driver's own manifests.
        if not (is_same and owner.is_assumed):
            answered = at(resource.value, ("spec", "extendedResourceName"))
            is_more = bool(answered) and answered not in owner.version.extended_resources
            instead = "remove the class" if is_same and not is_more else "choose another name"
            resource.subject.error(
                *("metadata", "name"),
                rule="class-of-chart",
                what=f"is the name of a class that the {owner.driver.name} driver's chart installs itself",
                got=resource.name,
                fix=f"{instead}; claims may request the chart's class without declaring it",
            )
        return True

    @cached_property
    def _installed(self) -> list[Installed]:
        return [item for cluster in self.clusters for item in cluster.drivers]

    def check_claim(self, resource: FileObject) -> None:
        """Check a claim or template: its classes, its own selectors, and whether a node can serve it."""
        pools: list[frozenset[str]] = []
        is_whole, is_part = True, False
        all_requests = list(requests(resource))
        unmatched: list[tuple[ClassRequest, list[Checked]]] = []
        answers = [self._check_request(resource, request) for request in all_requests]
        for request, (served, devices_of) in zip(all_requests, answers, strict=True):
            if not served and devices_of is not None:
                unmatched.append((request, devices_of))
            is_whole, is_part = is_whole and served is not None, is_part or served is not None
            pools.append(self._everywhere if served is None else served)
        both = zip(all_requests, answers, strict=True)
        report_chips(resource, [(one, found) for one, (_, found) in both if found is not None])
        by_name: dict[str, frozenset[str]] = {}
        for request, served in zip(all_requests, pools, strict=True):
            by_name[request.name] = by_name.get(request.name, frozenset()) | served
        for request, checked in unmatched:
            if not by_name[request.name]:
                self._report_unmatched(resource.subject.error, request, checked)
            elif not self._matches_elsewhere(self._texts(resource, request)):
                self._report_unmatched(resource.subject.warning, request, checked)
        together = _common(by_name.values())
        if all(by_name.values()) and by_name and not together:
            resource.subject.error(
                *all_requests[0].path[:-2],
                rule="no-common-node",
                what="requests devices that no single node has together: "
                + "; ".join(f"{name} only in {', '.join(sorted(found))}" for name, found in by_name.items()),
                fix="ask for devices of one pool's nodes",
            )
        if together and is_part:
            self.chosen[resource.key] = together
        if not is_whole:
            self.unjudged.add(resource.key)

    def most_of(self, name: str) -> dict[str, int]:
        """Per pool, the devices of one node that a class holds or may hold."""
        found: Programs = {}
        unknown: list[str] = []
        for cluster in self.clusters:
            texts = self._class_expressions(name, cluster)
            if texts is not None and name not in self.broken:
                programs = _programs(texts, cluster)
                if programs is None:
                    unknown.extend(pool.plan.name for pool in cluster.pools)
                else:
                    found[cluster.plan.name] = programs
        most = dict.fromkeys([*unknown, *self._doubts(found)], sys.maxsize)
        return _per_pool(self._checked(found)) | most

    @cached_property
    def _everywhere(self) -> frozenset[str]:
        return frozenset(pool.plan.name for cluster in self.clusters for pool in cluster.pools)

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """All classes with their expressions: of the stack, of its drivers' charts and of the files."""
        found = {name: texts for one in self.clusters for name, texts in one.classes.items()}
        return {**found, **self.declared}

    def known_classes(self) -> list[str]:
        return sorted(self.classes)

    def _check_request(
        self, resource: FileObject, request: ClassRequest
    ) -> tuple[frozenset[str] | None, list[Checked] | None]:
        """Return the pools that can serve a request (None if unknown), and unreported evaluations."""
        name = class_name(request)
        if name not in self.classes:
            if dns_subdomain(name) is None:  # the validation of the object reports other names
                path = (*request.path, "deviceClassName")
                report_unknown_class(resource.subject, path, name, self.known_classes())
            self._compiled(resource, request.path)
            return None, None
        before = _errors(resource.subject)
        own = list(expressions(resource, request.path))
        found = self._compiled(resource, request.path, prefix=name)
        if found is None or name in self.broken:
            return None, None
        checked = self._checked(found)
        check_robustness(self.clusters, resource.subject, own, found, checked)
        if _errors(resource.subject) > before:
            return None, None
        check_claim_width(self.clusters, resource, request, found)
        report_part(resource, request, checked)
        served, doubts = self._served(request, checked), self._doubts(found)
        # Devices of a driver that is unknown may be on other nodes than the stack's.
        return (None, None) if doubts and not served else (served | frozenset(doubts), checked)

    def _served(self, request: ClassRequest, checked: Sequence[Checked]) -> frozenset[str]:
        count = request.value.get("count")
        requested = count if isinstance(count, int) and request.value.get("allocationMode") != "All" else 1
        return frozenset(pool for pool, number in _per_pool(checked).items() if number >= requested)

    def _report_unmatched(self, report: _Report, request: ClassRequest, checked: Sequence[Checked]) -> None:
        if matching := _matching(checked):
            report(
                *request.path,
                "count",
                rule="not-enough-devices",
                what=f"requests {request.value.get('count')} devices of one node, where at most "
                f"{counted(matching)} match",
                got=str(request.value.get("count")),
                fix="ask for fewer, or for a pool with larger machines",
            )
        else:
            what, fix = self._none(checked, class_name(request))
            report(*request.path, rule="no-device-matches", what=what, got=class_name(request), fix=fix)

    def _texts(self, resource: FileObject, request: ClassRequest) -> list[str]:
        name = class_name(request)
        of_class = next((texts for one in self.clusters if (texts := self._class_expressions(name, one))), ())
        return [*of_class, *(text for _, text in expressions(resource, request.path))]

    def _matches_elsewhere(self, texts: Sequence[str]) -> bool:
        for cluster in self.others:
            programs = _programs(texts, cluster)
            if programs is None or any(
                item.verdict.outcome in ("true", "unknown") for item in check(programs, devices([cluster]))
            ):
                return True
        return False

    def _none(self, checked: Sequence[Checked], class_name: str = "") -> tuple[str, str]:
        """Return why the nearest devices, within a named class if any, do not match, and the fix."""
        miss = why_none(checked, environment(self.clusters[0].plan.kubernetes))
        of_class = any(
            miss.expression in (self._class_expressions(class_name, one) or ()) for one in self.clusters
        )
        what = f"matches 0 of {len(checked)} devices of the fleet's nodes"
        reason = f"{f'class {class_name}: ' if of_class else ''}{miss.what}"
        remedies = (item.facts.class_remedies.get(class_name) for item in self._installed)
        fix = (
            f"ask for what the fleet's devices have: {miss.found}"
            if miss.found and not of_class
            else next(filter(None, remedies), "add a pool that has such devices")
        )
        return f"{what}: {reason}" if miss.what else what, fix

    def _compiled(self, resource: FileObject, path: Path, prefix: str = "") -> Programs | None:
        """Compile the selectors for each cluster, a class's first; return None if one cannot be used."""
        own = list(expressions(resource, path))
        found: Programs = {}
        sound = True
        for cluster in self.clusters:
            cel = environment(cluster.plan.kubernetes)
            texts = self._class_expressions(prefix, cluster)
            driver = _only_driver(texts or ())
            selectors = [compiled(text, place, resource.subject, cel, driver) for place, text in own]
            sound = sound and all(selectors)
            if texts is not None and prefix not in self.broken:
                of_class = _programs(texts, cluster)
                sound = sound and of_class is not None
                programs = [selector.program for selector in selectors if selector is not None]
                found[cluster.plan.name] = [*(of_class or ()), *programs]
        return found if sound else None

    def _class_expressions(self, name: str, cluster: ClusterInventory) -> tuple[str, ...] | None:
        return () if not name else self.declared.get(name, cluster.classes.get(name))

    def _checked(self, found: Programs) -> list[Checked]:
        return [
            item
            for cluster in self.clusters
            if cluster.plan.name in found
            for item in check(found[cluster.plan.name], devices([cluster]))
        ]

    def _doubts(self, found: Programs) -> dict[str, str]:
        """Return the pools whose published devices are unknown for these selectors, with the reason."""
        doubts: dict[str, str] = {}
        for cluster in self.clusters:
            programs = found.get(cluster.plan.name, ())
            publishers = _named(programs) or {*_domains(programs)}
            doubts |= {pool.plan.name: why for pool in cluster.pools if (why := pool.doubt(publishers))}
        return doubts

    def _check_any(
        self, subject: Subject, path: Path, checked: Sequence[Checked], doubts: Mapping[str, str]
    ) -> None:
        if not all(item.verdict.outcome == "false" for item in checked):
            return
        if doubts:
            reason = next(iter(doubts.values()))
            subject.warning(
                *path,
                rule="not-judged",
                what=f"cannot be checked: {reason}",
                fix="declare the class in the stack file, and run dra-fleet prove STACK --slices FILE",
            )
        elif checked:
            what, fix = self._none(checked)
            asked_for = map(drivers.publishing, sorted(_named(checked[0].programs)))
            installed = [item.driver for item in self._installed]
            missing = [one.name for one in asked_for if one is not None and one not in installed]
            fix = f"add {missing[0]} to the cluster's drivers" if missing else fix
            subject.error(*path, rule="no-device-matches", what=what, fix=fix)


def _programs(texts: Iterable[str], cluster: ClusterInventory) -> list[Program] | None:
    """Compile the selectors of a class; return None if one is wrong or cannot be evaluated here."""
    cel = environment(cluster.plan.kubernetes)
    try:
        return [cel.compile(text) for text in texts]
    except (CelInvalid, CelUnsupported):
        return None


def _per_pool(checked: Iterable[Checked]) -> dict[str, int]:
    return dict(Counter(item.device.pool for item in checked if item.verdict.outcome in ("true", "unknown")))


def _common(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    found = [*sets]
    return found[0].intersection(*found[1:]) if found else frozenset()


def _only_driver(texts: Iterable[str]) -> str:
    """Return the driver that selectors name; "" if they name none or several."""
    names = {name for text in texts for name in asked(text).drivers}
    return names.pop() if len(names) == 1 else ""


def _named(programs: Sequence[Program]) -> set[str]:
    return {name for program in programs for name in asked(program.expression).drivers}


def _domains(programs: Sequence[Program]) -> list[str]:
    """Return the domains, except the shared one, of the attributes that selectors read."""
    names = {read.domain for program in programs for read in program.lookups}
    return sorted(name for name in names if name and "/" not in name and name != STANDARD)


def _is_written_by_helm(resource: FileObject) -> bool:
    """Return True if an object was read from a cluster where a release of Helm owns it."""
    return _HELM_RELEASE in mapping(at(resource.value, ("metadata", "annotations")))


def _errors(subject: Subject) -> int:
    return sum(finding.severity == "error" for finding in subject.found)


def _matching(checked: Sequence[Checked]) -> list[FleetDevice]:
    return [item.device for item in checked if item.verdict.outcome in ("true", "unknown")]


def _report_failure(subject: Subject, places: Mapping[str, Path], failed: Checked, cel: DeviceCel) -> None:
    """Report a selector that fails on a device of the fleet."""
    expression = failed.program.expression if failed.program is not None else ""
    hints = _never_published(failed.program) if failed.program is not None else iter(())
    hint = next(hints, ("", "", ""))
    what = (
        f"fails on {failed.device.name} of pool {failed.device.pool} "
        f"({failed.verdict.message}), which aborts the scheduling of every pod that asks, on all nodes"
    )
    subject.error(
        *places.get(expression, ()),
        rule="cel-fails",
        what=f"{what}; {hint[0]}" if hint[0] else what,
        got=expression,
        allowed=hint[1],
        fix=hint[2] or corrected(expression, cel, _only_driver(one.expression for one in failed.programs)),
    )


def _never_published(program: Program) -> Iterator[tuple[str, str, str]]:
    for read in sorted(program.lookups, key=str):
        if read.domain and read.identity:
            wrong = never_published(read.variable, read.domain, read.identity, program.expression)
            if wrong is not None:
                yield wrong


def _warn_never_published(subject: Subject, own: Sequence[tuple[Path, str]], found: Programs) -> None:
    """Report harmless look-ups that no known driver answers."""
    named = {name for programs in found.values() for name in _named(programs)}
    if named and not any(drivers.publishing(name) for name in named):
        return
    for path, text in own:
        every = (program for programs in found.values() for program in programs)
        program = next((program for program in every if program.expression == text), None)
        for what, allowed, fix in _never_published(program) if program is not None else ():
            subject.warning(*path, rule="cel-never-published", what=what, got=text, allowed=allowed, fix=fix)


def _warn_foreign(subject: Subject, path: Path, program: Program) -> None:
    """Report a selector that fails on devices of other drivers."""
    drivers = _domains([program])
    subject.warning(
        *path,
        rule="cel-without-driver",
        what="fails on the devices of any other driver, which aborts the scheduling of every pod that asks; "
        "nothing requests the driver first",
        got=program.expression,
        fix=guarded_by_driver(program.expression, drivers[0]) if drivers else "begin with device.driver == …",
    )


def _warn_optional(subject: Subject, path: Path, program: Program, device: FleetDevice, message: str) -> None:
    """Report a selector that fails on a device without an optional attribute."""
    identity = message.rpartition(": ")[2]
    read = next((read for read in program.lookups if read.identity == identity and read.domain), None)
    fix = (
        guarded_by_presence(program.expression, read.variable, str(read.domain), identity)
        if read is not None
        else "ask for it with `in` first"
    )
    subject.warning(
        *path,
        rule="cel-without-presence",
        what=f"fails where a device of type {device.type} has no {identity}, which not every device has",
        got=program.expression,
        fix=fix,
    )


def _whole_gpus(clusters: Sequence[ClusterInventory], found: Programs, name: str) -> list[FleetDevice]:
    """Return whole GPUs that match although the name says partitions; earlier findings are included."""
    if not names_partitions(name):
        return []
    return [
        device
        for cluster in clusters
        if (programs := found.get(cluster.plan.name)) is not None
        for pool in cluster.pools
        for device in (*pool.devices, *pool.unpartitioned)
        if device.type == _GPU and verdict(programs, device.cel)[0]
    ]


def _too_wide(whole: Sequence[FleetDevice]) -> str:
    return f"is named for MIG partitions but hands out whole GPUs too: {counted(whole)} per node"
