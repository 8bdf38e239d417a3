from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet.core.findings.errors import ExpectedError, mistyped, nearest
from dra_fleet.fleet import SettingsInvalid, parse, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import DoesNotFit
from tests.golden_files import Golden

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
GOOD, MISTAKES, STACK, WRONG = (TABLE[key] for key in ("good", "mistakes", "stack", "wrong"))


def output(tmp_path: Path, text: str) -> str:
    """Return the messages about a stack file, without the places."""
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as caught:
        read_stack_file(file)
    lines = str(caught.value).replace("dra-fleet:fleet.", "").splitlines()[2:]
    return "|".join(line.strip() for line in lines if not line.startswith("  at: "))


def test_the_file_that_the_mistakes_are_made_in_is_right(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(GOOD, encoding="utf-8")
    assert read_stack_file(file).settings.owner == "ml-platform"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_to_write(tmp_path: Path, mistake: str) -> None:
    case = MISTAKES[mistake]
    assert GOOD.count(case["right"]) == 1
    assert output(tmp_path, GOOD.replace(case["right"], case["wrong"])) == case["message"]


def test_the_beginning_of_a_long_name_is_enough_to_propose_it() -> None:
    assert nearest("H101", ["A10", "A10-12Q", "A10G", "H100-SXM5-80GB"])[0] == "H100-SXM5-80GB"


def test_a_name_like_no_other_proposes_none() -> None:
    assert nearest("banana", ["aks", "eks", "gke"]) == []


@pytest.mark.parametrize(
    ("word", "names", "meant"),
    [
        ("1g.5gb", ["1g.10gb", "1g.20gb", "2g.20gb", "7g.80gb"], "1g.10gb"),
        ("prod", ["development", "production", "staging"], "production"),
        ("nodeSelectors", ["machine", "nodeSelector"], "nodeSelector"),
        ("maximum", ["machine", "max", "min"], "max"),
        ("runtimeClass", ["driver.image", "operator.runtimeClass"], "operator.runtimeClass"),
    ],
)
def test_a_wrong_name_is_answered_with_the_name_that_is_meant(
    word: str, names: list[str], meant: str
) -> None:
    assert mistyped(word, names) == f"did you mean {meant}?"


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("aks2", ["eks", "gke"]),
        ("lap", ["lab"]),
        ("8g.5gb", ["1g.10gb", "7g.80gb"]),
        ("", ["lab"]),
        ("manager", ["ccManager", "driver", "migManager"]),
        ("deviceType", ["family", "model", "type"]),
    ],
)
def test_a_short_word_or_a_profile_is_not_answered_with_one_that_looks_alike(
    word: str, names: list[str]
) -> None:
    assert mistyped(word, names) == ""


@pytest.mark.parametrize(
    ("vendor", "cloud"),
    [
        ("aws", "eks"),
        ("Amazon", "eks"),
        ("azure", "aks"),
        ("gcp", "gke"),
        ("google", "gke"),
        ("alibaba", "ack"),
    ],
)
def test_a_vendor_is_answered_with_its_cloud(vendor: str, cloud: str) -> None:
    fleet = {"owner": "a", "environment": "staging", "clusters": {"one": {"cloud": vendor}}}
    with pytest.raises(SettingsInvalid) as refused:
        parse(fleet)
    [error] = [item for item in refused.value.errors if item.path.endswith(".cloud")]
    assert (error.what, error.fix) == ("unknown cloud", f"did you mean {cloud}?")


LEAST = 93


def errors(file: Path) -> list[str]:
    """Return the errors of a stack file, from reading it to its proof."""
    try:
        prove(make_plan(read_stack_file(file).settings)).require()
    except (ExpectedError, DoesNotFit) as wrong:
        return str(wrong).replace(str(file), "FILE").split("\n\n")[1:]
    return []


@pytest.fixture
def messages(tmp_path: Path) -> dict[str, list[str]]:
    """The errors of each wrong stack file."""
    found: dict[str, list[str]] = {}
    for name, (old, new) in WRONG.items():
        assert old in STACK, name
        file = tmp_path / "Pulumi.x.yaml"
        file.write_text(STACK.replace(old, new, 1), encoding="utf-8")
        found[name] = errors(file)
    return found


def test_each_wrong_input_is_one_error(messages: dict[str, list[str]]) -> None:
    assert {name: texts for name, texts in messages.items() if len(texts) != 1} == {}
    assert len(messages) >= LEAST


def test_messages_about_wrong_inputs_are_the_golden_ones(
    messages: dict[str, list[str]], golden: Golden
) -> None:
    blocks = [f"# {name}\n" + "\n\n".join(texts) for name, texts in messages.items()]
    golden("wrong_inputs.txt", "\n\n".join(blocks) + "\n")
