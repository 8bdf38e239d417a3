"""Findings that somebody decided to leave out: by a comment at their line, for a file, or in a list.

A comment `# dra-fleet: ignore RULE, RULE` leaves them out on its own line and on the one below;
`# dra-fleet: ignore-file RULE` in all of the file. A line of a list is `GLOB RULE,RULE`; `#` begins a reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from dra_fleet.core.findings.errors import choices, mistyped
from dra_fleet.core.findings.finding import FileFinding

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found


RULES: Final[Mapping[str, str]] = {
    "admin-access": "A claim with admin access needs a namespace that allows it.",
    "api-version": "The cluster's minor does not serve the version, or not by default.",
    "cel-fails": "A selector fails on a device of the fleet, which aborts scheduling.",
    "cel-invalid": "A selector does not compile.",
    "cel-never-published": "A selector looks up what no driver publishes.",
    "cel-never-true": "A selector can never be true as it is written.",
    "cel-without-driver": "A selector fails on the devices of other drivers.",
    "cel-without-presence": "A selector fails on devices that lack what not every one has.",
    "chart-version": "A chart's version is not known, and is judged by the one before it.",
    "chips-apart": "Some of a node's chips are asked for, which the driver prepares all together.",
    "claim-entry": "An entry of a pod's resourceClaims that the API server refuses or drops.",
    "claim-not-taken": "No container takes a claim of the pod.",
    "claim-shared": "Many pods share the devices of one claim.",
    "claim-unknown": "A pod names a claim or template that is not there.",
    "class-not-judged": "A class may be another driver's, which the catalogue lacks.",
    "class-of-chart": "A class has the name of one that a driver's chart installs.",
    "class-too-wide": "A class or claim named for partitions holds whole devices too.",
    "class-unknown": "A class is not there.",
    "class-without-selector": "A class holds every device of every driver.",
    "compute-domain": "A ComputeDomain that cannot work on the cluster.",
    "container-claim": "A container takes what its pod does not claim.",
    "controller-placement": "A chart's controller finds no node.",
    "critical-pods": "The cloud admits a chart's critical pods only with a quota.",
    "device-plugin": "An extended resource that no class answers.",
    "device-plugin-beside-driver": "A device plugin gives out what a DRA driver publishes.",
    "does-not-fit": "No node meets all requests and constraints together.",
    "driver-root": "A chart looks for the GPU driver where it is not.",
    "extended-resource-beside-claim": "An extended resource makes a second claim beside the pod's own.",
    "extended-resource-pair": "Limits and requests of an extended resource differ.",
    "extended-resource-twice": "Two classes have one extended resource name.",
    "fleet-too-small": "All nodes together do not have the devices of all copies.",
    "gpu-driver-owner": "Two install the GPU driver of a pool, or nobody does.",
    "label-unknown": "A pod selects by a label that no pool is known to carry.",
    "no-common-node": "No single node has what all requests ask for.",
    "no-device-matches": "A selector matches no device of the fleet.",
    "no-object": "A document is no Kubernetes object.",
    "no-pool-selected": "A pod selects no pool that has its devices.",
    "node-name": "A pod goes past the scheduler, which alone allocates claims.",
    "not-enough-devices": "More devices are asked for than a node has.",
    "not-judged": "What a driver publishes, or what a selector means, cannot be told.",
    "not-rendered": "A template, or what it left in an object, was not rendered.",
    "object-refused": "The API server refuses an object, or drops a field of it.",
    "object-twice": "A file has one object twice with different specs.",
    "parameters-for-other-type": "Opaque parameters are for devices of another type.",
    "parameters-passed-over": "The driver looks at a request's alternatives, not at the request's own name.",
    "parameters-refused": "The driver refuses its opaque parameters.",
    "part-of-device": "A part is asked for of devices that cannot be shared.",
    "partitions-missing": "MIG partitions that a chart relies on are not made, or not in time.",
    "plugin-placement": "A driver's plugin does not reach the nodes of a pool.",
    "second-driver": "Two drivers of one name on a cluster.",
    "sharing-without-isolation": "Devices are shared without isolation in production.",
    "taints-not-tolerated": "A pod tolerates the taints of no pool that has its devices.",
    "toleration-refused": "A toleration that the API server refuses.",
    "unknown-rule": "A comment or file leaves out a rule that does not exist.",
    "unreadable": "A file or document cannot be read.",
    "values-refused": "Chart values that the chart does not know or refuses.",
}


@dataclass(frozen=True, kw_only=True)
class OwnRules:
    """A team's own rules, which judge every object of the files.

    Attributes:
        about: each rule's name, and what it is about.
        judge: gives what they find in the objects of all files.
    """

    about: Mapping[str, str] = field(default_factory=dict[str, str])
    judge: Callable[[Sequence[FileObject]], Found] | None = None


NO_OWN_RULES: Final = OwnRules()

_NAMES = r"[a-z][a-z-]*(?:\s*,\s*[a-z][a-z-]*)*"

_COMMENT = re.compile(rf"#\s*dra-fleet:\s*ignore(?P<all>-file)?\s+(?P<rules>{_NAMES})")


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Rules that do not count in files.

    Attributes:
        files: The pattern of their names.
        rules: The rules.
        lines: The lines on which they do not count; empty for all.
    """

    files: str
    rules: frozenset[str]
    lines: tuple[int, ...] = ()

    def covers(self, finding: FileFinding) -> bool:
        """Whether a finding is left out."""
        is_there = finding.file == self.files or fnmatch(finding.file, self.files)
        return is_there and finding.rule in self.rules and (not self.lines or finding.line in self.lines)


def comments(name: str, data: bytes, found: list[FileFinding], known: Collection[str]) -> Iterator[LeftOut]:
    """What the comments of a file leave out; rules that are not known are told."""
    for line, text in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        match = _COMMENT.search(text)
        if match is not None:
            rules = _rules(name, line, match["rules"], found, known)
            yield LeftOut(files=name, rules=rules, lines=() if match["all"] else (line, line + 1))


def listed(name: str, text: str, found: list[FileFinding], known: Collection[str] = RULES) -> list[LeftOut]:
    """What a list leaves out; rules that are not known are told."""
    lines = (
        (number, line.partition("#")[0].split(None, 1)) for number, line in enumerate(text.splitlines(), 1)
    )
    return [
        LeftOut(files=words[0], rules=_rules(name, number, "".join(words[1:]), found, known))
        for number, words in lines
        if words
    ]


def _rules(
    name: str, line: int, text: str, found: list[FileFinding], known: Collection[str]
) -> frozenset[str]:
    rules = frozenset(re.split(r"[\s,]+", text.strip()))
    found += [_unknown(name, line, rule, known) for rule in sorted(rules - {*known})]
    return rules


def _unknown(name: str, line: int, rule: str, known: Collection[str]) -> FileFinding:
    return FileFinding(
        file=name,
        line=line,
        column=1,
        severity="error",
        object="",
        path="",
        rule="unknown-rule",
        what="leaves out a rule that does not exist",
        got=rule,
        allowed=choices(rule, known),
        fix=mistyped(rule, known),
    )


def counted(findings: Iterable[FileFinding], left_out: Iterable[LeftOut]) -> list[FileFinding]:
    """The findings that count."""
    rules = list(left_out)
    return [item for item in findings if not any(one.covers(item) for one in rules)]
