import re
from pathlib import Path

import pytest

from scripts.release_notes import CHANGELOG, notes

ROOT = Path(__file__).parents[1]
TEXT = """# Changelog

## Unreleased

- the next change

## 0.2.0 - 2027-01-31

- new

### Fixed
- old

## 0.1.0 - 2026-12-24

- first

## 0.0.1 - 2026-11-01

"""


@pytest.mark.parametrize(
    ("version", "said"), [("0.2.0", "- new\n\n### Fixed\n- old\n"), ("0.1.0", "- first\n")]
)
def test_the_notes_of_a_version_are_its_section(version: str, said: str) -> None:
    assert notes(TEXT, version) == said


@pytest.mark.parametrize(
    ("text", "version", "said"),
    [
        (TEXT, "0.3.0", "CHANGELOG.md has no section '## 0.3.0 - YEAR-MONTH-DAY'; add it above its changes"),
        (
            TEXT.replace("2026-12-24", "not released yet"),
            "0.1.0",
            "CHANGELOG.md has no section '## 0.1.0 - YEAR-MONTH-DAY'; add it above its changes",
        ),
        (
            TEXT,
            "0.0.1",
            "CHANGELOG.md has no text for 0.0.1; write its changes below '## 0.0.1 - YEAR-MONTH-DAY'",
        ),
    ],
)
def test_a_version_without_a_dated_section_is_not_released(text: str, version: str, said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        notes(text, version)
    assert ended.value.code == said


def test_the_list_of_changes_has_the_package_s_version_below_what_is_unreleased() -> None:
    (version,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    headings = re.findall(r"^## (\S+)", CHANGELOG.read_text("utf-8"), re.MULTILINE)
    assert headings[:2] == ["Unreleased", version]
