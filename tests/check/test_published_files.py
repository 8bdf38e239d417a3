"""Files in the manner of those that projects publish: each says in its head what is found in it, no more is.

Structure, kinds and names are the projects'; the text is dra-fleet's. `# stack: NAME` names one of
stacks.yaml; each
`# finds: SEVERITY RULE LINE` is a finding, and a file without has none.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.check import ManifestFile
from dra_fleet.model.plan import FleetPlan
from tests.check.check_helpers import ROOT, check, cluster, plan_of, plan_on

PUBLISHED = Path(__file__).parent / "published"
READER: Any = YAML(typ="safe", pure=True)
STACKS: dict[str, Any] = READER.load(PUBLISHED / "stacks.yaml")
FILES = sorted(path for path in PUBLISHED.glob("*/*.yaml"))


@cache
def plan(stack: str) -> FleetPlan:
    settings = STACKS[stack]
    if isinstance(settings, str):
        return plan_of(ROOT / settings)
    machine, pool = settings["machine"], settings.get("pool", {})
    return plan_on(**{stack: cluster(machine, drivers=settings.get("drivers"), **pool)})


@pytest.mark.parametrize("file", FILES, ids=[str(path.relative_to(PUBLISHED)) for path in FILES])
def test_finds_the_listed_findings_in_each_published_file(file: Path) -> None:
    text = file.read_text("utf-8")
    [stack] = re.findall(r"^# stack: (\S+)$", text, re.MULTILINE)
    expected = re.findall(r"^# finds: (.+)$", text, re.MULTILINE)
    found = check(plan(stack), [ManifestFile(name=file.name, data=text.encode())])
    assert [f"{item.severity} {item.rule} {item.line}" for item in found] == expected


def test_there_are_files_of_many_projects() -> None:
    assert len(FILES) >= 80
    assert len({path.parent.name for path in FILES}) >= 15
