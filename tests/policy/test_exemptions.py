import datetime as dt
from pathlib import Path

import pytest

from dra_fleet.policy.exemptions import (
    LONGEST,
    Exemption,
    ExemptionsError,
    exemption_of,
    read_exemptions,
    today,
)

RULES = ("pod-forbid-fixed-node", "pool-match-architecture")
DAY = dt.date(2027, 1, 31)
URN = "urn:pulumi:dev::other::kubernetes:core/v1:Pod::train"
ENTRY = "{rule: pod-forbid-fixed-node, resource: train, reason: a bench, expires: 2027-01-31}"
GIVEN = Exemption(rule="pod-forbid-fixed-node", resource="train", reason="a bench", expires=DAY)
FORM = "{rule: pod-forbid-fixed-node, resource: train, reason: why, expires: 2027-01-31}"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "exemptions.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_exemptions_are_read(tmp_path: Path) -> None:
    assert read_exemptions(written(tmp_path, f"exemptions:\n  - {ENTRY}\n"), RULES) == (GIVEN,)
    assert read_exemptions(written(tmp_path, "exemptions: []\n"), RULES) == ()


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", ": must be one YAML document; fix: write exemptions: [] for none"),
        (
            "exemptions: [",
            (
                ":2:1: is not valid YAML: did not find expected node content; "
                "fix: look at the indentation, quotes and brackets above"
            ),
        ),
        (
            "exemptions: []\nexemptions: []",
            ":2:1: holds the key 'exemptions' twice; fix: remove one of the two",
        ),
        ("exemptions: {}", f": must be a list under the key exemptions, and nothing else; such as {FORM}"),
        ("- 1", f": must be a list under the key exemptions, and nothing else; such as {FORM}"),
        (
            "exemptions: [train]",
            f":1:14: must be a mapping of rule, resource, reason, expires; such as {FORM}",
        ),
        (
            f"exemptions:\n- {ENTRY.replace('expires', 'until')}",
            ":2:3: 'until' is not a key; allowed: rule, resource, reason, expires",
        ),
        (
            f"exemptions:\n- {ENTRY.replace('a bench', '')}",
            f":2:3: reason must be a text, got None; such as {FORM}",
        ),
        (
            f"exemptions:\n- {ENTRY.replace('2027-01-31', 'never')}",
            ":2:3: expires is 'never'; allowed: a day as YYYY-MM-DD",
        ),
        (
            f"exemptions:\n- {ENTRY.replace('fixed', 'fixd')}",
            (
                ":2:3: 'pod-forbid-fixd-node' is not a rule; allowed: pod-forbid-fixed-node, "
                "pool-match-architecture; fix: did you mean pod-forbid-fixed-node?"
            ),
        ),
        (
            f"exemptions:\n- {ENTRY}\n- {ENTRY}",
            ":3:3: the exemption of train from pod-forbid-fixed-node is given twice; fix: keep one",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text: str, output: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ExemptionsError) as refused:
        read_exemptions(file, RULES)
    assert str(refused.value) == f"{file}{output}"


def test_an_exemption_lasts_a_year_at_most(tmp_path: Path) -> None:
    last = today() + LONGEST
    read_exemptions(written(tmp_path, f"exemptions:\n- {ENTRY.replace('2027-01-31', str(last))}"), RULES)
    later = last + dt.timedelta(days=1)
    file = written(tmp_path, f"exemptions:\n- {ENTRY.replace('2027-01-31', str(later))}")
    with pytest.raises(ExemptionsError) as refused:
        read_exemptions(file, RULES)
    assert str(refused.value) == (
        f"{file}:2:3: expires is {later}; allowed: at most a year from today, {last}; "
        "fix: write an earlier day, and decide again then"
    )


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExemptionsError) as refused:
        read_exemptions(tmp_path / "none.yaml", RULES)
    assert str(refused.value) == (
        f"{tmp_path}/none.yaml: the exemptions cannot be read: No such file or directory; "
        "fix: restore the file, or take it out of the policies"
    )


@pytest.mark.parametrize(
    ("rule", "urn", "found"),
    [
        (RULES[0], URN, GIVEN),
        (RULES[1], URN, None),
        (RULES[0], f"{URN}-2", None),
        (RULES[0], "urn:pulumi:dev::train::kubernetes:core/v1:Pod::other", None),
    ],
)
def test_an_exemption_is_about_one_rule_and_one_resource(
    rule: str, urn: str, found: Exemption | None
) -> None:
    assert exemption_of([GIVEN], rule, urn) is found


def test_an_exemption_may_name_a_resource_by_its_urn() -> None:
    by_urn = Exemption(rule=RULES[0], resource=URN, reason="a bench", expires=DAY)
    assert exemption_of([by_urn], RULES[0], URN) is by_urn


def test_the_day_on_which_it_expires_is_the_last() -> None:
    assert GIVEN.describe(DAY) == "exempted until 2027-01-31: a bench"
    assert GIVEN.describe(DAY + dt.timedelta(days=1)) == (
        "its exemption expired on 2027-01-31 (a bench); "
        "fix: fix the finding, or agree on a later day in the exemption's `expires`"
    )
