"""What the classes and claims of files select in the fleet, decided on the devices its pools will publish."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dra_fleet.cel import asked, environment
from dra_fleet.checking import rewriting
from dra_fleet.checking.device_objects import class_name, expressions, requests
from dra_fleet.checking.matching import FOREIGN, Judged, Programs, counted, devices, judge, verdict, why_none
from dra_fleet.checking.quantities import tell_chips, tell_part
from dra_fleet.checking.robustness import tell_failure, warn_foreign, warn_never_published, warn_optional
from dra_fleet.checking.selectors import compiled
from dra_fleet.findings.errors import choices, mistyped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.cel.program import Program
    from dra_fleet.checking.device_objects import Request
    from dra_fleet.checking.inventory import Cluster, FleetDevice
    from dra_fleet.checking.resources import Resource
    from dra_fleet.findings.finding import Subject
    from dra_fleet.yaml_text import Path

    class _Tell(Protocol):
        def __call__(
            self, *path: str | int, what: str, got: str = "", allowed: str = "", fix: str = ""
        ) -> None: ...


_MIG_NAME = re.compile(r"(^|[-._])(mig|[1-7]g)($|[-._0-9])")
_GPU, _MIG = "gpu", "mig"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The classes known to the stack and to the files, and what was found wrong with them.

    Args:
        clusters: the clusters that are judged.
        others: the stack's other clusters, where a class that matches nothing here may be meant for.
        declared: expressions of the classes of the files, by name.
        broken: names of classes of the files of which something was told already.
        chosen: per claim or template, the pools that can serve all its requests.
    """

    clusters: tuple[Cluster, ...]
    others: tuple[Cluster, ...] = ()
    declared: Mapping[str, tuple[str, ...]]
    broken: set[str] = field(default_factory=set[str])
    chosen: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def check_class(self, resource: Resource) -> None:
        """Judge a class: its selectors, and whether it selects what it is meant for."""
        subject, before = resource.subject, _errors(resource.subject)
        own = list(expressions(resource, ("spec",)))
        found = self._compiled(resource, ("spec",))
        if not own:
            what = "has no selector, so that it holds every device of every driver"
            subject.warning("spec", what=what, fix="select by device.driver at least")
        elif found:
            judged = self._judged(found)
            self._check_selectors(subject, own, found, judged)
            if _errors(subject) == before:
                is_elsewhere = self._matches_elsewhere([text for _, text in own])
                if not is_elsewhere:
                    self._check_any(subject, own[0][0], judged, self._doubts(found))
                self._check_width(subject, resource.name, own, found)
        if _errors(subject) > before:
            self.broken.add(resource.name)

    def check_claim(self, resource: Resource) -> None:
        """Judge a claim or template: its classes, its own selectors, and whether a node can serve it."""
        pools: list[frozenset[str]] = []
        all_requests = list(requests(resource))
        unmatched: list[tuple[Request, list[Judged]]] = []
        for request in all_requests:
            served, judged = self._check_request(resource, request)
            if served is None:
                return
            if not served:
                unmatched.append((request, judged))
            pools.append(served)
        by_name: dict[str, frozenset[str]] = {}
        for request, served in zip(all_requests, pools, strict=True):
            by_name[request.name] = by_name.get(request.name, frozenset()) | served
        for request, judged in unmatched:
            if not by_name[request.name]:
                self._tell_unmatched(resource.subject.error, request, judged)
            elif not self._matches_elsewhere(self._texts(resource, request)):
                self._tell_unmatched(resource.subject.warning, request, judged)
        together = _common(by_name.values())
        if all(by_name.values()) and by_name and not together:
            resource.subject.error(
                *all_requests[0].path[:-2],
                what="asks for devices that no single node has together: "
                + "; ".join(f"{name} only in {', '.join(sorted(found))}" for name, found in by_name.items()),
                fix="ask for devices of one pool's nodes",
            )
        if together:
            self.chosen[resource.name] = together

    def known_classes(self) -> list[str]:
        """All class names, of the stack, of its drivers' charts and of the files."""
        return sorted({*self.declared, *(name for cluster in self.clusters for name in cluster.classes)})

    def _check_request(
        self, resource: Resource, request: Request
    ) -> tuple[frozenset[str] | None, list[Judged]]:
        """The pools that can serve a request; None where something else was told that decides it."""
        name = class_name(request)
        if name not in self.known_classes():
            if name:
                resource.subject.error(
                    *request.path,
                    "deviceClassName",
                    what="is neither a class of the stack or of its drivers, nor one of the files checked",
                    got=name,
                    allowed=choices(name, self.known_classes()),
                    fix=mistyped(name, self.known_classes()),
                )
            return None, []
        before = _errors(resource.subject)
        own = list(expressions(resource, request.path))
        found = self._compiled(resource, request.path, prefix=name)
        if found is None or name in self.broken:
            return None, []
        judged = self._judged(found)
        self._check_selectors(resource.subject, own, found, judged)
        if _errors(resource.subject) > before:
            return None, judged
        self._check_claim_width(resource, request, found)
        tell_part(resource, request, judged)
        tell_chips(resource, request, judged)
        return self._served(request, judged) | frozenset(self._doubts(found)), judged

    def _served(self, request: Request, judged: Sequence[Judged]) -> frozenset[str]:
        """The pools of which one node has enough devices that match, or may match."""
        count = request.value.get("count")
        wanted = count if isinstance(count, int) and request.value.get("allocationMode") != "All" else 1
        per_pool: dict[str, int] = {}
        for item in judged:
            if item.verdict.outcome in ("true", "unknown"):
                per_pool[item.device.pool] = per_pool.get(item.device.pool, 0) + 1
        return frozenset(pool for pool, number in per_pool.items() if number >= wanted)

    def _tell_unmatched(self, tell: _Tell, request: Request, judged: Sequence[Judged]) -> None:
        matching = [item.device for item in judged if item.verdict.outcome in ("true", "unknown")]
        if matching:
            tell(
                *request.path,
                "count",
                what=f"asks for {request.value.get('count')} devices of one node, where at most "
                f"{counted(matching)} match",
                got=str(request.value.get("count")),
                fix="ask for fewer, or for a pool with larger machines",
            )
        else:
            what, fix = self._none(judged)
            tell(*request.path, what=what, got=class_name(request), fix=fix)

    def _texts(self, resource: Resource, request: Request) -> list[str]:
        name = class_name(request)
        of_class = next((texts for one in self.clusters if (texts := self._class_expressions(name, one))), ())
        return [*of_class, *(text for _, text in expressions(resource, request.path))]

    def _matches_elsewhere(self, texts: Sequence[str]) -> bool:
        """Whether selectors match, or may match, a device of another cluster of the stack."""
        for cluster in self.others:
            cel = environment(cluster.plan.kubernetes)
            programs = [cel.compile(text) for text in texts]
            if any(
                item.verdict.outcome in ("true", "unknown") for item in judge(programs, devices([cluster]))
            ):
                return True
        return False

    def _none(self, judged: Sequence[Judged]) -> tuple[str, str]:
        first = environment(self.clusters[0].plan.kubernetes)
        reason, found = why_none(judged, first)
        what = f"matches 0 of {len(judged)} devices of the fleet's nodes"
        fix = (
            f"ask for what the fleet's devices have: {found}" if found else "add a pool that has such devices"
        )
        return f"{what}: {reason}" if reason else what, fix

    def _compiled(self, resource: Resource, path: Path, prefix: str = "") -> Programs | None:
        """The selectors on each cluster, those of a class before the request's own; None if one is wrong."""
        own = list(expressions(resource, path))
        found: Programs = {}
        sound = True
        for cluster in self.clusters:
            cel = environment(cluster.plan.kubernetes)
            texts = self._class_expressions(prefix, cluster)
            selectors = [compiled(text, place, resource.subject, cel) for place, text in own]
            sound = sound and all(selectors)
            if texts is not None and prefix not in self.broken:
                programs = [selector.program for selector in selectors if selector is not None]
                found[cluster.plan.name] = [*(cel.compile(text) for text in texts), *programs]
        return found if sound else None

    def _class_expressions(self, name: str, cluster: Cluster) -> tuple[str, ...] | None:
        return () if not name else self.declared.get(name, cluster.classes.get(name))

    def _judged(self, found: Programs) -> list[Judged]:
        return [
            item
            for cluster in self.clusters
            if cluster.plan.name in found
            for item in judge(found[cluster.plan.name], devices([cluster]))
        ]

    def _check_selectors(
        self,
        subject: Subject,
        own: Sequence[tuple[Path, str]],
        found: Programs,
        judged: Sequence[Judged],
    ) -> None:
        """Tell where evaluating fails: on own devices, on foreign ones, on those that lack something."""
        places = {text: path for path, text in own}
        failed = [item for item in judged if item.verdict.outcome == "error"]
        if failed:
            tell_failure(subject, places, failed[0])
            return
        warn_never_published(subject, own, found)
        for programs in found.values():
            outcome, program = verdict(programs, FOREIGN)
            if outcome.outcome == "error" and program is not None and program.expression in places:
                warn_foreign(subject, places[program.expression], program)
                return
        for cluster in self.clusters:
            for device in devices([cluster]) if cluster.plan.name in found else ():
                outcome, program = verdict(found[cluster.plan.name], device.bare)
                if outcome.outcome == "error" and program is not None and program.expression in places:
                    warn_optional(subject, places[program.expression], program, device, outcome.message)
                    return

    def _doubts(self, found: Programs) -> dict[str, str]:
        """The pools where it cannot be told what the drivers that selectors name publish, and why."""
        return {
            pool.plan.name: reason
            for cluster in self.clusters
            for pool in cluster.pools
            if (reason := pool.doubt(_named(found.get(cluster.plan.name, ()))))
        }

    def _check_any(
        self, subject: Subject, path: Path, judged: Sequence[Judged], doubts: Mapping[str, str]
    ) -> None:
        if not all(item.verdict.outcome == "false" for item in judged):
            return
        if doubts:
            reason = next(iter(doubts.values()))
            subject.warning(*path, what=f"cannot be judged: {reason}", fix="prove it with recorded slices")
        elif judged:
            what, fix = self._none(judged)
            subject.error(*path, what=what, fix=fix)

    def _check_width(
        self, subject: Subject, name: str, own: Sequence[tuple[Path, str]], found: Programs
    ) -> None:
        whole = self._whole_gpus(found) if _MIG_NAME.search(name) else []
        if whole:
            path, expression = own[-1]
            fix = rewriting.of_type(expression, whole[0].cel.driver, _MIG)
            subject.error(*path, what=_too_wide(whole), got=expression, fix=fix)

    def _check_claim_width(self, resource: Resource, request: Request, found: Programs) -> None:
        name = class_name(request)
        if not _MIG_NAME.search(resource.name) or _MIG_NAME.search(name):
            return
        whole = self._whole_gpus(found)
        if whole:
            fix = "use the class mig.nvidia.com" if whole[0].cel.driver == "gpu.nvidia.com" else ""
            resource.subject.error(*request.path, "deviceClassName", what=_too_wide(whole), got=name, fix=fix)

    def _whole_gpus(self, found: Programs) -> list[FleetDevice]:
        """The whole GPUs that selectors choose, also those there are before MIG partitions are made."""
        return [
            device
            for cluster in self.clusters
            if cluster.plan.name in found
            for pool in cluster.pools
            for device in (*pool.devices, *pool.unpartitioned)
            if device.type == _GPU and verdict(found[cluster.plan.name], device.cel)[0]
        ]


def _common(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    common: frozenset[str] | None = None
    for item in sets:
        common = item if common is None else common & item
    return common or frozenset()


def _named(programs: Sequence[Program]) -> set[str]:
    return {name for program in programs for name in asked(program.expression).drivers}


def _errors(subject: Subject) -> int:
    return sum(finding.severity == "error" for finding in subject.found)


def _too_wide(whole: Sequence[FleetDevice]) -> str:
    return f"is named for MIG partitions but hands out whole GPUs too: {counted(whole)} per node"
