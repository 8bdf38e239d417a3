"""Check files against a stack's fleet, all files together, and report to code hosts."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.check.contents import check_heads, contents_of, is_foreign
from dra_fleet.check.device_objects import all_expressions, requested_classes, validated
from dra_fleet.check.exemptions import NO_OWN_RULES, RULES, comments, counted
from dra_fleet.check.inventory import clusters
from dra_fleet.check.on_cluster import checked_on
from dra_fleet.check.pods import is_release, pods_of
from dra_fleet.check.resources import check_rendered
from dra_fleet.core.findings.sarif import SarifResult, SarifRule, SarifRun, sarif
from dra_fleet.kubernetes.cel import asked
from dra_fleet.proof.answer.messages import STRICT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dra_fleet.check.exemptions import LeftOut, OwnRules
    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.on_cluster import Outcome
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import FileFinding, Found
    from dra_fleet.model.plan import FleetPlan


class ManifestFile(Struct, frozen=True, kw_only=True):
    """A file of Kubernetes objects.

    Attributes:
        name: Its name as findings say it.
        data: Its bytes.
        is_named: Whether someone named it; else it was found in a folder, and may hold something else.
    """

    name: str
    data: bytes
    is_named: bool = True


class ValuesFile(Struct, frozen=True, kw_only=True):
    """A chart's values file, for a chart by name and version."""

    chart: str
    version: str
    name: str
    data: bytes


class CheckResult(Struct, frozen=True, kw_only=True):
    """Result of a check.

    Attributes:
        findings: Everything wrong or doubtful, in the order of files and lines.
        checked: How many objects and values files were checked against the fleet.
        passed: How many were skipped, by why.
        by_own_rules: How many objects a team's own rules checked, those that were skipped among them.
    """

    findings: tuple[FileFinding, ...]
    checked: int
    passed: Mapping[str, int]
    by_own_rules: int = 0


def check(
    plan: FleetPlan,
    manifests: Iterable[ManifestFile],
    values: Iterable[ValuesFile] = (),
    only: Collection[str] = (),
    omitted: Iterable[LeftOut] = (),
    *,
    own: OwnRules = NO_OWN_RULES,
) -> CheckResult:
    """Check files against a stack's fleet.

    Args:
        plan: the stack's plan, which says what pools, classes and claims there are.
        manifests: files of Kubernetes objects. Kinds that have nothing to do with devices are skipped.
        values: values files of driver charts.
        only: the clusters that they are for; each of the stack if none is named.
        omitted: rules that do not count in some files, beside those that comments omit.
        own: a team's own rules.
    """
    files, charts = list(manifests), list(values)
    contents = [contents_of(file.name, file.data, is_named=file.is_named) for file in files]
    found: Found = dict.fromkeys(item for content in contents for item in content.findings)
    objects = [item for content in contents for item in content.objects]
    everywhere = clusters(plan, _drivers_named(objects))
    fleet = [cluster for cluster in everywhere if not only or cluster.plan.name in only]
    if charts:
        from dra_fleet.check.values_files import check_file  # noqa: PLC0415 - few runs check any

        for file in charts:
            found |= _merged([check_file(file, cluster) for cluster in fleet], fleet)
    check_heads(objects)
    for item in objects:
        if not is_release(item):
            check_rendered(item.subject, item.value)
        found |= item.subject.found
    every = [item for content in contents for item in (*content.objects, *content.others)]
    if own.check is not None:
        found |= own.check(every)
    strict = plan.environment == STRICT
    minors = {cluster.plan.kubernetes for cluster in fleet}
    given = {minor: [validated(item, minor) for item in objects] for minor in minors}
    unknown_kinds = [
        item for content in contents for item in content.others if is_foreign(item) and not pods_of(item)
    ] + [item for item in objects if is_release(item)]
    outcomes = [
        checked_on(cluster, everywhere, given[cluster.plan.kubernetes], unknown_kinds, is_production=strict)
        for cluster in fleet
    ]
    for of_object in zip(*outcomes, strict=True):
        found |= _merged(_where_it_runs(of_object), fleet)
    unknown: list[FileFinding] = []
    known = {**RULES, **own.about}
    reported = [
        *omitted,
        *(item for file in (*files, *charts) for item in comments(file.name, file.data, unknown, known)),
    ]
    order = {name: index for index, name in enumerate([*(f.name for f in files), *(f.name for f in charts)])}
    passed: Counter[str] = Counter()
    for content in contents:
        passed.update(content.passed)
    return CheckResult(
        findings=tuple(
            sorted([*counted(found, reported), *unknown], key=lambda item: (order[item.file], item))
        ),
        checked=len(objects) + len(charts),
        passed=passed,
        by_own_rules=len(every) if own.check else 0,
    )


def _drivers_named(objects: Iterable[FileObject]) -> set[str]:
    """Return the drivers that the selectors of files name, and those whose classes the files request.

    They hint at the drivers of an existing cluster.
    """
    device_objects = [item for item in objects if item.is_device_object]
    texts = (text for item in device_objects for text in all_expressions(item))
    owners = (drivers.of_class(name) for item in device_objects for name in requested_classes(item))
    return {name for text in texts for name in asked(text).drivers} | {
        owner.facts.driver for owner in owners if owner is not None and owner.owns_names
    }


def _merged(by_cluster: Sequence[Found], fleet: Sequence[ClusterInventory]) -> Found:
    """Merge the findings of each cluster; findings of only some clusters name them."""
    where: dict[FileFinding, list[str]] = {}
    for found, cluster in zip(by_cluster, fleet, strict=True):
        for finding in found:
            where.setdefault(finding, []).append(cluster.plan.name)
    return {
        finding if len(names) == len(fleet) else replace(finding, clusters=tuple(names)): None
        for finding, names in where.items()
    }


def _where_it_runs(outcomes: Sequence[Outcome]) -> list[Found]:
    """Turn errors of an object into warnings on other clusters, if at least one cluster can run it."""
    if not any(outcome.runs for outcome in outcomes):
        return [dict.fromkeys(outcome.findings) for outcome in outcomes]
    return [
        dict.fromkeys(replace(item, severity="warning") for item in outcome.findings) for outcome in outcomes
    ]


_TOOL: Final = "dra-fleet"


def to_sarif(
    findings: Iterable[FileFinding], stack: str, own: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Return the findings as one SARIF log; `own` are custom rules, each with its subject."""
    run = SarifRun(
        tool=_TOOL,
        version=version(_TOOL),
        rules=tuple(
            SarifRule(name=name, description=text, level="error")
            for name, text in {**RULES, **(own or {})}.items()
        ),
        category=f"dra-fleet-check/{stack}",
    )
    results = [
        SarifResult(
            rule=finding.rule,
            level=finding.severity,
            message=finding.sentence,
            names=(f"{finding.object} {finding.path}".strip(),),
            file=finding.file,
            line=finding.line,
            identity=(finding.file, finding.object, finding.path, finding.what),
            suppressed=finding.exempted,
        )
        for finding in findings
    ]
    return sarif(run, results)


def annotation(finding: FileFinding) -> str:
    """Return a finding as a workflow command.

    Format: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands.
    """
    where = {"file": finding.file, "line": finding.line, "col": finding.column, "title": finding.rule}
    fields = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in where.items())
    return f"::{finding.severity} {fields}::{_escaped(finding.sentence)}"


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(letter):02X}" if letter in f"%\r\n{more}" else letter for letter in text)
