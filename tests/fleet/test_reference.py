import re
import textwrap
from pathlib import Path

import pytest

from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.explanation import text
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal.simulator.hardware_file import Hardware

ROOT = Path(__file__).parents[2]
SHOWN = {"README.md": 1, "docs/stack.md": 2}
"""Pages, and how many YAML blocks each has."""
TAGS = {"`cloud`", "`strategy`"}
"""Keys that say which section a mapping is."""


def blocks(page: str) -> list[str]:
    found = re.findall(
        r"^ *```yaml\n(.*?)^ *```$", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return [textwrap.dedent(block) for block in found]


def test_every_key_says_what_it_means() -> None:
    rows = [line.split(" | ") for line in text().splitlines() if line.startswith("| `")]
    silent = [row[0] for row in rows if not row[-1].strip(" |") and row[0].removeprefix("| ") not in TAGS]
    assert len(rows) > 200
    assert silent == []


def test_every_link_leads_to_a_section() -> None:
    page = text()
    sections = {title.lower() for title in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= sections


@pytest.mark.parametrize("page", SHOWN)
def test_the_stack_that_a_page_shows_is_right_and_every_workload_fits(tmp_path: Path, page: str) -> None:
    shown = blocks(page)
    assert len(shown) == SHOWN[page]
    file = tmp_path / "Pulumi.shown.yaml"
    file.write_text(shown[0], encoding="utf-8")
    proof = prove(make_plan(read_stack_file(file).settings))
    assert {item.word for item in proof.workloads} == {"guaranteed"}
    assert proof.fits
    assert proof.warnings == (), "a rehearsal has no autoscaler, so that all must fit on the least nodes"


def test_the_hardware_that_the_page_shows_is_hardware(tmp_path: Path) -> None:
    file = tmp_path / "shown.yaml"
    file.write_text(blocks("docs/stack.md")[1], encoding="utf-8")
    assert [node.name for node in Hardware.read(file).clusters["site"].nodes] == ["site-1", "site-2"]
