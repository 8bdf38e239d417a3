import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dra_fleet.policy import pack
from dra_fleet.policy.gate.report import Places, SourceLine, places, to_junit, to_sarif
from dra_fleet.policy.gate.verdict import GateVerdict
from tests.policy.test_gate_verdict import FLOOR, URN, events, pack_of, verdict, violation

SARIF = Path(__file__).parents[1] / "review" / "schemas" / "sarif-2.1.0-rtm.5.json"
NOWHERE = Places(program={})
OTHERS = {
    "policyName": "tag-everything",
    "policyPackName": "acme",
    "enforcementLevel": "mandatory",
    "message": "no tag",
    "resourceUrn": URN,
}


def sarif_of(found: GateVerdict, known: Places = NOWHERE) -> Any:
    log: Any = to_sarif(found, known)
    schema = json.loads(SARIF.read_text(encoding="utf-8"))
    wrong: list[Any] = list(jsonschema.Draft4Validator(schema).iter_errors(log))  # pyright: ignore[reportUnknownMemberType]
    assert wrong == []
    (run,) = log["runs"]
    return run


def test_sarif_names_each_finding_and_why_a_run_cannot_be_trusted() -> None:
    given = {"found": violation("mandatory"), **events()}
    del given["end"]
    run = sarif_of(verdict(given))
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == (FLOOR, "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == FLOOR
    assert run["invocations"][0]["executionSuccessful"] is False


def test_sarif_keeps_the_rules_of_other_packs() -> None:
    run = sarif_of(verdict({"found": {"policyEvent": OTHERS}, **events()}))
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (result["ruleId"], rule["id"]) == ("acme/tag-everything", "acme/tag-everything")
    assert rule["shortDescription"]["text"] == "The rule tag-everything of the policy pack acme."


def test_a_rule_of_another_pack_with_the_same_name_is_ignored() -> None:
    run = sarif_of(verdict({"found": {"policyEvent": {**OTHERS, "policyName": FLOOR}}, **events()}))
    assert [result["ruleId"] for result in run["results"]] == [f"acme/{FLOOR}"]


def state(*positions: str) -> dict[str, Any]:
    return {"urn": URN, "stackTrace": [{"sourcePosition": position} for position in positions]}


@pytest.mark.parametrize(
    ("resource", "place"),
    [
        (state("project:///infra/main.py#12"), SourceLine("infra/main.py", 12)),
        (state("project:///infra/main.py#12,5"), SourceLine("infra/main.py", 12)),
        (
            state("project:///.venv/lib/python3.12/site-packages/acme.py#3", "project:///main.py#7"),
            SourceLine("main.py", 7),
        ),
        (state("project:///../elsewhere/lib.py#3", "project:///main.py#7"), SourceLine("main.py", 7)),
        ({"urn": URN, "sourcePosition": "project:///main.py#4"}, SourceLine("main.py", 4)),
    ],
)
def test_a_finding_is_shown_on_the_program_s_own_line(
    resource: dict[str, Any], place: SourceLine, tmp_path: Path
) -> None:
    known = places(tmp_path, "dev", [resource])
    assert known.of(URN) == place
    run = sarif_of(verdict({"found": violation("mandatory"), **events()}), known)
    shown = run["results"][0]["locations"][0]["physicalLocation"]
    assert (shown["artifactLocation"]["uri"], shown["region"]["startLine"]) == (place.file, place.line)


@pytest.mark.parametrize("stack", ["dev", "acme/dev"])
def test_shows_the_stack_file_s_line_if_the_engine_reports_none(stack: str, tmp_path: Path) -> None:
    text = "config:\n  other:clusters:\n    cc: {}\n    c: {}\n"
    (tmp_path / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")
    known = places(tmp_path, stack, [state("project:///../site-packages/acme.py#3")])
    assert known.of(URN) == SourceLine("Pulumi.dev.yaml", 4)
    assert known.of(f"{URN}-unnamed") == SourceLine("Pulumi.dev.yaml", 1)


def test_reports_problems_of_an_extended_file_in_that_file(tmp_path: Path) -> None:
    for name, text in (
        ("Pulumi.yaml", "name: other\nruntime: python\n"),
        ("Pulumi.dev.yaml", "config:\n  dra-fleet:fleet:\n    extends: fleets/1.yaml\n"),
        ("fleets/1.yaml", "config:\n  dra-fleet:fleet:\n    extends: fleets/1.yaml\n    clusters: {c: {}}\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    known = places(tmp_path, "dev")
    assert known.of(URN) == SourceLine("fleets/1.yaml", 4)
    assert known.of(f"{URN}-unnamed") == SourceLine("Pulumi.dev.yaml", 1)


def test_without_a_stack_file_the_project_s_is_shown(tmp_path: Path) -> None:
    assert places(tmp_path, "dev").of(URN) == SourceLine("Pulumi.yaml", 1)


def test_junit_has_a_case_for_each_finding_each_rule_without_one_and_each_problem() -> None:
    reported = {"policyEvent": pack_of(policyName=pack.UNJUDGED.name, message="a <b>", resourceUrn=URN)}
    given = {
        "found": violation("mandatory"),
        "reported": reported,
        "other": {"policyEvent": OTHERS},
        **events(),
    }
    del given["end"]
    found = verdict(given)
    suite = ET.fromstring(to_junit(found, NOWHERE))  # noqa: S314 - just made
    cases = {case.get("name"): case for case in suite}
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("2", "1", str(len(cases)))
    failure = cases[f"{FLOOR} c"].find("failure")
    assert failure is not None
    assert failure.get("message") == "m"
    assert cases["acme/tag-everything c"].find("failure") is not None
    output = cases[f"{pack.UNJUDGED.name} c"].find("system-out")
    assert output is not None
    assert output.text == "advisory: a <b>"
    error = cases["not checked 1"].find("error")
    assert error is not None
    assert error.get("message") == found.problems[0]
    assert list(cases["chart-pin-version"]) == []


STRUCTURE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuite": ({"name", "tests", "failures", "errors"}, set(), {"testcase"}),
    "testcase": ({"name", "classname"}, {"file", "line"}, {"failure", "error", "system-out"}),
    "failure": ({"message", "type"}, set(), set()),
    "error": ({"message", "type"}, set(), set()),
    "system-out": (set(), set(), set()),
}
"""The format as https://github.com/testmoapp/junitxml has it: by element the attributes that it must and may
have, and the elements in it."""


def strange() -> GateVerdict:
    """A finding, advice and a problem in texts that neither XML nor an address can hold as they are."""
    text = '\x1b[31mold\x1b[0m \x00 \ufffe ]]> <b> & "c"\n\U0001f600'
    reported = {
        "policyEvent": pack_of(policyName=pack.UNJUDGED.name, message=text, resourceUrn=f"{URN} {text}")
    }
    wrong = {"diagnosticEvent": {"severity": "error", "message": text}}
    found = violation("mandatory")
    found["policyEvent"]["message"] = text
    return verdict(
        {"found": found, "reported": reported, "other": {"policyEvent": OTHERS}, "wrong": wrong, **events()}
    )


def test_junit_has_the_structure_that_readers_expect_whatever_the_texts() -> None:
    suite = ET.fromstring(to_junit(strange(), NOWHERE))  # noqa: S314 - just made
    assert suite.tag == "testsuite"
    for element in suite.iter():
        must, may, inside = STRUCTURE[element.tag]
        assert must <= set(element.keys()) <= must | may, element.tag
        assert {child.tag for child in element} <= inside
        assert len(element) <= 1 or element.tag == "testsuite"
    for kind, element in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        assert suite.get(kind) == str(len(list(suite.iter(element))))
    shown = [failure.get("message") for failure in suite.iter("failure")]
    assert '\ufffd[31mold\ufffd[0m \ufffd \ufffd ]]> <b> & "c"\n\U0001f600' in shown


def test_sarif_keeps_to_its_schema_whatever_the_texts_and_encodes_addresses() -> None:
    known = Places(program={URN: SourceLine("infra stück/main #1.py", 3)})
    run = sarif_of(strange(), known)
    places_shown = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]
    }
    assert places_shown == {"infra%20st%C3%BCck/main%20%231.py", "Pulumi.yaml"}
    assert run["invocations"][0]["executionSuccessful"] is False
