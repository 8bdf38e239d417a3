"""A verdict as SARIF and as JUnit, with the source line of each finding."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from dra_fleet.core.findings.sarif import SarifResult, SarifRule, SarifRun, sarif
from dra_fleet.fleet.stack_file import fleet_files
from dra_fleet.policy import pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.core.findings.sarif import Level as SarifLevel
    from dra_fleet.policy.gate.verdict import GateFinding, GateVerdict
    from dra_fleet.policy.rule import Preset, Rule


LINK: Final = "https://www.pulumi.com/docs/iac/crossguard/"
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow, such as terminal colours: https://www.w3.org/TR/xml/#charsets"""


def to_sarif(verdict: GateVerdict, places: Places) -> dict[str, object]:
    """Return the verdict as a SARIF log; each problem makes its run unsuccessful."""
    others = {found.title: _other_rule(found) for found in verdict.findings if found.pack != pack.NAME}
    run = SarifRun(
        tool=pack.NAME,
        version=pack.VERSION,
        link=LINK,
        rules=(*(_rule(rule, verdict.preset) for rule in verdict.rules), *others.values()),
        category=f"dra-fleet-gate/{verdict.stack}",
        failures=verdict.problems,
    )
    results = [
        SarifResult(
            rule=finding.title,
            level=_level(finding),
            message=finding.message,
            names=(finding.urn,),
            file=places.of(finding.urn).file,
            line=places.of(finding.urn).line,
            identity=(finding.urn, finding.message),
            suppressed=_why_exempted(finding),
            baseline=("unchanged" if finding.known else "new") if verdict.baseline else None,
        )
        for finding in verdict.findings
    ]
    return sarif(run, results)


def to_junit(verdict: GateVerdict, places: Places) -> str:
    """Return the verdict as a JUnit report: a test case for each finding, rule without finding and problem.

    What stops the gate is a failure, what keeps it from checking an error, and an advisory finding the output
    of a case that passed. Format: https://github.com/testmoapp/junitxml
    """
    suite = ET.Element("testsuite", name=f"dra-fleet-gate/{verdict.stack}")
    for finding in verdict.findings:
        place = places.of(finding.urn)
        at = {"file": place.file, "line": str(place.line)}
        name = f"{finding.title} {finding.urn.rpartition('::')[2]}".rstrip()
        case = ET.SubElement(suite, "testcase", classname=finding.title, name=name, attrib=at)
        if finding.stops:
            ET.SubElement(case, "failure", type=finding.severity, message=finding.message).text = finding.urn
        else:
            level = "in the baseline" if finding.known else finding.level
            ET.SubElement(case, "system-out").text = f"{level}: {finding.message}"
    for rule in sorted(verdict.ran - {finding.rule for finding in verdict.findings}):
        ET.SubElement(suite, "testcase", classname=rule, name=rule)
    for number, problem in enumerate(verdict.problems, 1):
        case = ET.SubElement(suite, "testcase", classname="not checked", name=f"not checked {number}")
        ET.SubElement(case, "error", type="not checked", message=problem)
    for count, kind in (("tests", "testcase"), ("failures", ".//failure"), ("errors", ".//error")):
        suite.set(count, str(len(suite.findall(kind))))
    ET.indent(suite)
    text = ET.tostring(suite, encoding="unicode", xml_declaration=True)
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text) + "\n"


def _why_exempted(finding: GateFinding) -> str:
    exempted = finding.exempted
    return f"{exempted.reason} (until {exempted.expires})" if exempted is not None else ""


def _level(finding: GateFinding) -> SarifLevel:
    return "error" if finding.level == "mandatory" else "warning"


def _other_rule(finding: GateFinding) -> SarifRule:
    described = f"The rule {finding.rule} of the policy pack {finding.pack}."
    return SarifRule(name=finding.title, description=described, level=_level(finding), tags=(finding.pack,))


def _rule(rule: Rule, preset: Preset) -> SarifRule:
    levels: dict[str, SarifLevel] = {"disabled": "none", "advisory": "warning"}
    return SarifRule(
        name=rule.name,
        description=rule.description,
        help=rule.fix,
        link=rule.link,
        level=levels.get(rule.level(preset), "error"),
        severity=rule.severity,
        tags=(rule.severity,),
    )


_POSITION: Final = re.compile(r"project:///(?P<file>[^#]+)#(?P<line>\d+)(,\d+)?")
"""https://github.com/pulumi/pulumi/blob/master/proto/pulumi/source.proto, as states hold it."""
_NOT_THE_PROGRAM: Final = re.compile(r"(^|/)(\.\.|\.venv|venv|node_modules|site-packages)(/|$)")
_PROJECT_FILE: Final = "Pulumi.yaml"


class SourceLine(Struct, frozen=True):
    """A line of a file, by its path from the project's folder."""

    file: str
    line: int = 1


class Places(Struct, frozen=True, kw_only=True):
    """Known source lines of a project.

    Attributes:
        program: by URN the program's line that registers the resource, as far as the engine reported it.
        files: the stack file, and below it those that it extends, each with its lines; else the project's.
    """

    program: Mapping[str, SourceLine]
    files: tuple[tuple[str, tuple[str, ...]], ...] = ((_PROJECT_FILE, ()),)

    def of(self, urn: str) -> SourceLine:
        """Return the source line of a finding on a resource."""
        if urn in self.program:
            return self.program[urn]
        name = urn.rpartition("::")[2]
        word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") if name else None
        named = (
            SourceLine(file, number)
            for file, lines in self.files
            for number, line in enumerate(lines, 1)
            if word is not None and word.search(line)
        )
        return next(named, SourceLine(self.files[0][0]))


def places(directory: Path | None, stack: str, *states: Iterable[Mapping[str, Any]]) -> Places:
    """Collect the known source lines of a project.

    Args:
        directory: the project's folder; None to read no file of a project.
        stack: the stack's name, without an organisation.
        states: the engine's own records of resources; of the same resource the first that reports counts.
    """
    program: dict[str, SourceLine] = {}
    for state in states:
        for resource in state:
            place = _place(resource)
            if place is not None:
                program.setdefault(str(resource.get("urn", "")), place)
    file = directory / f"Pulumi.{stack.rpartition('/')[2]}.yaml" if directory is not None else None
    if directory is None or file is None or not file.is_file():
        return Places(program=program)
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in fleet_files(file)}
    return Places(
        program=program,
        files=tuple(
            (Path(os.path.relpath(path, directory)).as_posix(), tuple(text.splitlines()))
            for path, text in texts.items()
        ),
    )


def _place(resource: Mapping[str, Any]) -> SourceLine | None:
    """Return the innermost line of the program itself: packages' components call the engine too."""
    frames = cast("Iterable[Mapping[str, Any]]", resource.get("stackTrace") or ())
    reported = (resource.get("sourcePosition"), *(frame.get("sourcePosition") for frame in frames))
    for position in reported:
        found = _POSITION.fullmatch(str(position))
        if found is not None and not _NOT_THE_PROGRAM.search(found["file"]):
            return SourceLine(found["file"], int(found["line"]))
    return None
