"""Findings that someone decided to omit: by a comment at their line, for a file, or in a list.

A comment `# dra-fleet: ignore RULE, RULE` leaves them out on its own line and on the one below;
`# dra-fleet: ignore-file RULE` in all of the file. A line of a list is `GLOB RULE,RULE`; `#` begins a reason.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from dra_fleet.core.findings.errors import choices, mistyped
from dra_fleet.core.findings.finding import FileFinding

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found


RULES: Final[Mapping[str, str]] = {
    "admin-access": "A claim with admin access is in a namespace that does not allow it.",
    "api-version": "The cluster does not serve the API version, or not by default.",
    "cel-fails": "A selector fails on a device of the fleet, which aborts scheduling.",
    "cel-invalid": "A selector does not compile.",
    "cel-never-published": "A selector reads an attribute or capacity that no driver publishes.",
    "cel-never-true": "A selector can never be true.",
    "cel-without-driver": "A selector fails on the devices of other drivers.",
    "cel-without-presence": "A selector fails on devices without an optional attribute.",
    "chart-version": "A chart version is unknown: it is checked like the version before it, or not at all.",
    "chips-apart": "A claim requests some of the chips that the driver prepares together.",
    "claim-entry": "The API server rejects or drops an entry of a pod's resourceClaims.",
    "claim-not-taken": "No container uses a claim of the pod.",
    "claim-shared": "Many pods share the devices of one claim.",
    "claim-unknown": "A pod refers to a claim or template that does not exist.",
    "class-not-judged": "A class is not in the catalogue and may belong to another driver.",
    "class-of-chart": "A class has the name of a class that a driver's chart installs.",
    "class-too-wide": "A class or claim named for partitions also matches whole devices.",
    "class-unknown": "A class does not exist.",
    "class-without-selector": "A class matches every device of every driver.",
    "compute-domain": "A ComputeDomain cannot work on the cluster.",
    "container-claim": "A container uses a claim that its pod does not have.",
    "controller-placement": "No node can run a chart's controller.",
    "critical-pods": "The cloud admits a chart's critical pods only with a quota.",
    "device-plugin": "No class provides an extended resource.",
    "device-plugin-beside-driver": "A device plugin advertises devices that a DRA driver publishes.",
    "does-not-fit": "No node meets all requests and constraints together.",
    "driver-root": "A chart looks for the GPU driver in the wrong folder.",
    "extended-resource-beside-claim": "An extended resource adds a second claim to a pod with a claim.",
    "extended-resource-pair": "Limits and requests of an extended resource differ.",
    "extended-resource-twice": "Two classes have the same extended resource name.",
    "fleet-too-small": "All nodes together have too few devices for all copies.",
    "gang": "A gang starts in no order or in some only, or shares a claim that the version cannot share.",
    "gpu-driver-owner": "Two components install the GPU driver of a pool, or none does.",
    "label-unknown": "A pod selects a label that no pool is known to have.",
    "no-common-node": "No single node has the devices of all requests.",
    "no-device-matches": "A selector matches no device of the fleet.",
    "no-object": "A document is not a Kubernetes object.",
    "no-pool-selected": "A pod selects no pool with its devices.",
    "node-name": "A pod bypasses the scheduler, which allocates claims.",
    "not-enough-devices": "A claim requests more devices than a node has.",
    "not-judged": "The published devices or the meaning of a selector are unknown.",
    "not-rendered": "A template, or a placeholder in an object, was not rendered.",
    "object-refused": "The API server rejects an object or drops a field.",
    "object-twice": "A file has the same object twice with different specs.",
    "parameters-for-other-type": "Opaque parameters are for devices of another type.",
    "parameters-passed-over": "Opaque parameters name a request instead of its alternatives.",
    "parameters-refused": "The driver rejects opaque parameters.",
    "part-of-device": "A claim requests a part of a device that cannot be shared.",
    "partitions-missing": "MIG partitions that a chart needs are not created, or not in time.",
    "plugin-placement": "A driver's plugin does not run on the nodes of a pool.",
    "second-driver": "A cluster has two drivers of the same name.",
    "sharing-without-isolation": "Pods share a device without isolation in production.",
    "taints-not-tolerated": "A pod does not tolerate the taints of the pools with its devices.",
    "toleration-refused": "The API server rejects a toleration.",
    "unknown-rule": "A comment or file ignores a rule that does not exist.",
    "unreadable": "A file or document cannot be read.",
    "values-refused": "The chart does not know or rejects a value.",
}


class OwnRules(Struct, frozen=True, kw_only=True):
    """A team's own rules, which check every object of the files.

    Attributes:
        about: each rule's name, and what it is about.
        check: gives what they find in the objects of all files.
    """

    about: Mapping[str, str] = field(default_factory=dict[str, str])
    check: Callable[[Sequence[FileObject]], Found] | None = None


NO_OWN_RULES: Final = OwnRules()

_NAMES = r"[a-z][a-z-]*(?:\s*,\s*[a-z][a-z-]*)*"

_COMMENT = re.compile(rf"#\s*dra-fleet:\s*ignore(?P<all>-file)?\s+(?P<rules>{_NAMES})")


class LeftOut(Struct, frozen=True, kw_only=True):
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
        """Return whether the exemption omits a finding."""
        is_there = finding.file == self.files or fnmatch(finding.file, self.files)
        return is_there and finding.rule in self.rules and (not self.lines or finding.line in self.lines)


def comments(name: str, data: bytes, found: list[FileFinding], known: Collection[str]) -> Iterator[LeftOut]:
    """Yield the exemptions in the comments of a file, and report unknown rules."""
    for line, text in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        match = _COMMENT.search(text)
        if match is not None:
            rules = _rules(name, line, match["rules"], found, known)
            yield LeftOut(files=name, rules=rules, lines=() if match["all"] else (line, line + 1))


def listed(name: str, text: str, found: list[FileFinding], known: Collection[str] = RULES) -> list[LeftOut]:
    """Return the exemptions in a list, and report unknown rules."""
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
        what="names a rule that does not exist",
        got=rule,
        allowed=choices(rule, known),
        fix=mistyped(rule, known),
    )


def counted(findings: Iterable[FileFinding], omitted: Iterable[LeftOut]) -> list[FileFinding]:
    """Return the findings without the exempted ones."""
    rules = list(omitted)
    return [item for item in findings if not any(one.covers(item) for one in rules)]
