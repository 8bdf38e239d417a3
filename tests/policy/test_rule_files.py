from pathlib import Path

import pytest

from dra_fleet.policy import docs, pack
from dra_fleet.policy.rule import Rule
from dra_fleet.policy.rule_files import RULES_FOLDER, RuleFileError, load_cases, load_rules
from tests.policy.own_rules import OWNER, write_rules

RULE = """\
import re
from dra_fleet.policy.rule import ResourceRule

RULE = ResourceRule(
    name="{name}", description="d", fix="f", link="https://example.com", severity="low",
    types=re.compile("x"), check=lambda resource, settings: (),
)
"""


def written(folder: Path, file: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(text, encoding="utf-8")
    return folder


def test_a_file_of_several_rules_and_one_of_their_cases_are_found(tmp_path: Path) -> None:
    two = RULE.format(name="pod-forbid-night") + "POD = RULE\n" + RULE.format(name="node-forbid-night")
    folder = written(tmp_path / "own", "night.py", f"{two}\nRULES = (POD, RULE)\n")
    found = load_rules(folder)
    assert [rule.name for rule in found] == ["node-forbid-night", "pod-forbid-night"]
    cases = written(
        folder / "cases",
        "night.py",
        "from dra_fleet.policy.rule_cases import RuleCase\n"
        "CASES = {'pod-forbid-night': (RuleCase(passing=(), breaks=()),), 'node-forbid-night': ()}\n",
    )
    assert len(load_cases(found[1], cases)) == 1
    with pytest.raises(RuleFileError, match=r"night\.py binds no cases to CASES"):
        load_cases(found[0], cases)


def test_rules_of_anyone_s_own_are_found(tmp_path: Path) -> None:
    folder = written(tmp_path / "own", "pod_forbid_night.py", RULE.format(name="pod-forbid-night"))
    written(folder, "_shared.py", "raise RuntimeError")
    assert [rule.name for rule in load_rules(folder)] == ["pod-forbid-night"]


def test_a_file_without_a_rule_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "empty", "pod_forbid_day.py", "")
    with pytest.raises(RuleFileError) as refused:
        load_rules(folder)
    assert str(refused.value) == (
        f"{folder}/pod_forbid_day.py binds no rule to RULE; "
        "fix: RULE = ResourceRule(name='pod-forbid-day', …)"
    )


def test_a_rule_of_another_name_than_its_file_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "misnamed", "pod_forbid_noon.py", RULE.format(name="pod-forbid-dusk"))
    with pytest.raises(RuleFileError) as refused:
        load_rules(folder)
    assert str(refused.value) == (
        f"{folder}/pod_forbid_noon.py holds the rule pod-forbid-dusk; "
        "allowed: pod-forbid-noon, the name of its file"
    )


def test_a_folder_of_another_s_that_is_named_alike_is_not_mixed_up(tmp_path: Path) -> None:
    folders = [tmp_path / owner / "policies" / "rules" for owner in ("one", "other")]
    for folder in folders:
        folder.mkdir(parents=True)
        written(folder, "pod_forbid_x.py", RULE.format(name="pod-forbid-x"))
    (one,), (other,) = (load_rules(folder) for folder in folders)
    assert one is not other


def test_a_rule_may_import_what_stands_beside_it(tmp_path: Path) -> None:
    folder = write_rules(tmp_path / "theirs")
    assert [rule.name for rule in load_rules(folder)] == [OWNER]
    assert not list(folder.rglob("*.pyc"))


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("\nx = no_such_name", "NameError: name 'no_such_name' is not defined (line 2)"),
        ("x = (", "SyntaxError: '(' was never closed (line 1)"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module' (line 1)"),
        ("raise SystemExit(3)", "SystemExit: 3 (line 1)"),
    ],
)
def test_a_file_that_does_not_import_is_named_with_its_line(
    text: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "broken", "pod_forbid_dawn.py", text)
    monkeypatch.chdir(tmp_path)
    for named in (folder, folder.relative_to(tmp_path)):
        with pytest.raises(RuleFileError) as refused:
            load_rules(named)
        assert (
            str(refused.value) == f"{named}/pod_forbid_dawn.py does not import: {output}; fix: fix the file"
        )


def test_a_folder_that_is_missing_or_empty_is_no_folder_without_rules(tmp_path: Path) -> None:
    for folder, output in (
        (
            tmp_path / "none",
            (
                "is not a folder, and rules of it are asked for: nothing is checked without them; "
                "fix: restore it, or take it out of the policies"
            ),
        ),
        (
            tmp_path,
            (
                "holds no rule; fix: put each rule into a file of its name, such as pod_require_owner.py, "
                "or take the folder out of the policies"
            ),
        ),
    ):
        with pytest.raises(RuleFileError) as refused:
            load_rules(folder)
        assert str(refused.value) == f"{folder} {output}"


def test_two_rules_of_one_name_are_both_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "same", "chart_pin_version.py", RULE.format(name="chart-pin-version"))
    with pytest.raises(RuleFileError) as refused:
        load_rules(RULES_FOLDER, folder)
    assert str(refused.value) == (
        f"{folder}/chart_pin_version.py and {RULES_FOLDER}/chart.py both hold the rule "
        "chart-pin-version; fix: rename one"
    )


@pytest.mark.parametrize("rule", pack.RULES, ids=lambda rule: rule.name)
def test_each_rule_says_its_level_why_fix_and_parameters(rule: Rule) -> None:
    page = docs.page()
    section = page[page.index(f"\n## {rule.name}\n") :].split("\n## ")[1]
    for said in (rule.description, rule.fix, rule.link, rule.severity, rule.level("standard")):
        assert said in section
    for parameter in rule.parameters:
        assert f"`{parameter.name}`" in section
        assert parameter.description in section
