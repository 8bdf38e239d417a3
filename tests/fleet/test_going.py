"""What goes is warned about with its replacement, and rewritten with all comments where they were."""

from __future__ import annotations

import gzip
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.going import ANY, GOING, Going, migrate, warnings
from dra_fleet.fleet.plan import make_plan
from dra_fleet.rehearsal import stack_copy

PROJECT = Path(__file__).parents[2]
EARLIER: dict[str, str] = json.loads(
    gzip.decompress((PROJECT / "tests" / "data" / "earlier" / "stack-files.json.gz").read_bytes())
)
"""Stack files by name as they were at d24141a, before there was a package."""
NAMED = """\
# The stack prod.
config:
  pulumi:disable-default-providers: ["*"] # none of them
  # What it is made of:
  dra-fleet:fleet: fleets/large.yaml
  dra-fleet:other: 1 # kept
"""
RENAMED = Going(
    at=("dra-fleet:fleet", "clusters", ANY, "kube"),
    old=lambda _key, _value: True,
    instead="kubernetes",
    new=lambda _, value: ("kubernetes", value),
    read_until="0.1",
)


@pytest.mark.parametrize("name", EARLIER)
def test_a_stack_file_of_an_earlier_version_is_planned(name: str, tmp_path: Path) -> None:
    file = tmp_path / Path(name).name
    file.write_text(EARLIER[name], encoding="utf-8")
    read = read_stack_file(file)
    renamed = "DRANET" in EARLIER[name]
    assert [warning.partition(": ")[0] for warning in read.warnings] == (
        ["dra-fleet:fleet.clusters.ultra.drivers.efa"] if renamed else []
    )
    assert make_plan(read.settings).clusters


def project(tmp_path: Path) -> Path:
    """A stack file that names the file of its fleet, in the way that goes."""
    (tmp_path / "Pulumi.yaml").write_text("name: acme\nruntime: python\n")
    (tmp_path / "fleets").mkdir()
    (tmp_path / "fleets" / "large.yaml").write_text((PROJECT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(NAMED)
    return file


def test_what_goes_is_warned_about_with_its_replacement(tmp_path: Path) -> None:
    read = read_stack_file(project(tmp_path))
    [warning] = read.warnings
    assert warning == (
        "dra-fleet:fleet: this way of writing it goes with the version after 0.1; "
        "write the file's name below it: extends: FILE; fix: dra-fleet migrate Pulumi.prod.yaml"
    )
    assert make_plan(read.settings).clusters


def test_migrate_writes_the_new_way_and_keeps_the_comments_and_the_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project(tmp_path)
    before = read_stack_file(file).settings
    monkeypatch.chdir(tmp_path)

    shown = CliRunner().invoke(app, ["migrate", "--dry-run"])
    assert file.read_text() == NAMED
    done = CliRunner().invoke(app, ["migrate", "--json"])

    assert shown.stdout.endswith("1 files would change\n")
    told = ["dra-fleet:fleet: the file's name below it: extends: FILE"]
    assert json.loads(done.stdout) == {"changed": {str(file): told}, "written": True}
    assert file.read_text() == NAMED.replace(
        "dra-fleet:fleet: fleets/large.yaml", "dra-fleet:fleet:\n    extends: fleets/large.yaml"
    )
    read = read_stack_file(file)
    assert (read.settings, read.warnings) == (before, ())
    assert CliRunner().invoke(app, ["migrate"]).stdout == "0 files changed\n"


def test_a_file_without_a_fleet_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("config: {}\n")
    refused = CliRunner().invoke(app, ["migrate", str(file)])
    assert "has no key dra-fleet:fleet under config" in str(refused.exception)
    assert file.read_text() == "config: {}\n"


def test_a_key_is_renamed_in_its_place_below_every_name(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    text = """\
config:
  dra-fleet:fleet:
    clusters:
      # The first.
      blue:
        cloud: aks
        kube: "1.36" # held
        region: eastus # near
      # The second.
      green: {kube: "1.35"}
"""
    file.write_text(text)
    document: dict[str, Any] = stack_copy.read(file)
    assert [warning.partition(":")[0] for warning in warnings(document["config"], "", (RENAMED,))] == [
        "dra-fleet"
    ] * 2
    assert migrate(document["config"], (RENAMED,)) == [
        "dra-fleet:fleet.clusters.blue.kube: kubernetes",
        "dra-fleet:fleet.clusters.green.kube: kubernetes",
    ]
    assert stack_copy.text(document) == text.replace("kube:", "kubernetes:")


def test_a_way_is_read_as_long_as_its_row_says_and_then_leaves_the_table() -> None:
    assert [row.at for row in GOING if not version("dra-fleet").startswith(f"{row.read_until}.")] == []


def test_a_driver_of_another_name_is_written_with_its_new_one(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.ultra.yaml"
    file.write_text(EARLIER["examples/s07-eks-ultraserver.yaml"], encoding="utf-8")
    before = read_stack_file(file)
    assert CliRunner().invoke(app, ["migrate", str(file)]).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert text == EARLIER["examples/s07-eks-ultraserver.yaml"].replace("efa: {version", "dranet: {version")
    assert (read_stack_file(file).settings, read_stack_file(file).warnings) == (before.settings, ())
