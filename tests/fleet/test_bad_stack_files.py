import tracemalloc
from pathlib import Path

import pytest

from dra_fleet.core.yaml_text import MAX_BYTES
from dra_fleet.fleet import SettingsInvalid, read_stack_file

ROOT = Path(__file__).parents[2]
LAB = (ROOT / "tests" / "data" / "stacks" / "lab.yaml").read_text(encoding="utf-8")
BOMB = "    a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"    {name}: &{name} [{', '.join(['*' + before] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
FLEET = "config:\n  dra-fleet:fleet:\n"
MOST_MEMORY = 200 * 2**20


def refused(tmp_path: Path, content: str | bytes) -> str:
    """Return the messages about a stack file, called FILE."""
    file = tmp_path / "Pulumi.x.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SettingsInvalid) as caught:
        read_stack_file(file)
    return str(caught.value).partition("\n\n")[2].replace(str(file), "FILE")


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (FLEET + BOMB, "holds more than 100000 values once its anchors are followed"),
        (f"{FLEET}    a: &a [*a]\n", "FILE:3:12: holds an anchor that contains itself: a"),
        (f"{FLEET}    a: *b\n", "FILE:3:8: is not valid YAML: found undefined alias b"),
        (LAB + "#" * MAX_BYTES, f"FILE:1:1: is larger than {MAX_BYTES} bytes"),
        (LAB + "k: v\n" * 2_000_000, f"is larger than {MAX_BYTES} bytes"),
        (f"{FLEET}    a: {'[' * 3000}", "FILE:3:70: is nested more than 64 levels deep"),
        ("{" * 1_000_000, "FILE:1:66: is nested more than 64 levels deep"),
        ("a: [" + "1," * 100_000 + "1]", "holds more than 100000 values"),
        (LAB.encode() + b"# caf\xe9\n", ": is not UTF-8 text"),
        (f"{FLEET}    a: \x00\n", "FILE:3:8: is not valid YAML: control characters are not allowed"),
        (f"{FLEET}\ta: 1\n", "FILE:3:1: is not valid YAML: found a tab\n  fix: indent with spaces"),
        (f"{FLEET}    a: 1\n    a: 2\n", "FILE:4:5: holds the key 'a' twice"),
        (f"{FLEET}    [a]: 1\n", "FILE:3:5: has a key that is not a text"),
        (f"{LAB}---\n{LAB}", ": is a second document, and a stack file is one"),
        (bytes(range(256)) * 10, "FILE:2:118: is not UTF-8 text"),
    ],
    ids=[
        *("bomb", "itself", "undefined", "large", "larger", "deep", "braces", "many", "latin", "nul", "tab"),
        *("twice", "list key", "documents", "binary"),
    ],
)
def test_it_is_reported_with_its_place(tmp_path: Path, content: str | bytes, output: str) -> None:
    assert output in refused(tmp_path, content)


@pytest.mark.slow
def test_a_bomb_of_anchors_takes_little_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        refused(tmp_path, FLEET + BOMB)
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


def test_a_wrong_setting_is_reported_with_the_file_line_and_column_of_its_value(tmp_path: Path) -> None:
    output = refused(tmp_path, LAB.replace("    owner:", "    ownr: x\n    owner:"))
    line = LAB.splitlines().index(next(text for text in LAB.splitlines() if "    owner:" in text)) + 1
    assert f"dra-fleet:fleet.ownr: unknown key\n  at: FILE:{line}:5\n" in output


def test_a_setting_that_is_missing_is_reported_at_what_should_hold_it(tmp_path: Path) -> None:
    output = refused(tmp_path, f"{FLEET}    owner: o\n    clusters:\n      lab: {{cloud: existing}}\n")
    assert "dra-fleet:fleet.clusters.lab.pools: is required\n  at: FILE:5:7\n" in output


def test_numbers_of_any_length_and_dates_that_are_none_are_text(tmp_path: Path) -> None:
    output = refused(tmp_path, f"{FLEET}    owner: {'9' * 20_000}\n    a: 2026-99-99\n")
    assert "dra-fleet:fleet.a: unknown key" in output


def test_anchors_and_merges_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    nodes = "nodes: {min: 1, max: 1}"
    assert LAB.count(nodes) > 1
    file.write_text(LAB.replace(nodes, "nodes: &one {min: 1, max: 1}", 1).replace(nodes, "nodes: *one"))
    lab = ROOT / "tests" / "data" / "stacks" / "lab.yaml"
    assert read_stack_file(file).settings == read_stack_file(lab).settings


def test_a_directory_is_reported_in_words(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="cannot be read: Is a directory"):
        read_stack_file(tmp_path)
