from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.fleet import SettingsInvalid, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import fleet_at, parsed, read_fleet, settled

PROJECT = Path(__file__).parents[2]
HEAD = "config:\n  dra-fleet:fleet:\n"
BASE = f"""{HEAD}    owner: me
    kubernetes: "1.36"
    clusters:
      lab:
        cloud: existing
        kubeconfig: {{context: lab}}
        drivers: {{nvidia: {{version: 0.5.0, values: {{logVerbosity: "4", image: {{tag: x}}}}}}}}
        pools:
          h100:
            machine: hgx-h100-8
            nodes: {{min: 1, max: 1}}
            nodeSelector: {{a: b}}
            taints: [{{key: one, value: x, effect: NoSchedule}}, {{key: two, value: x, effect: NoSchedule}}]
    classes:
      big: {{driver: nvidia, type: gpu, memory: {{min: 20Gi}}}}
"""
STAGING = f"{HEAD}    extends: fleets/base.yaml\n    environment: staging\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: acme\nruntime: python\n")
    (tmp_path / "fleets").mkdir()
    (tmp_path / "fleets" / "base.yaml").write_text(BASE)
    return tmp_path


def staging(project: Path, more: str = "") -> Path:
    """The stack file, with lines of the fleet more."""
    file = project / "Pulumi.staging.yaml"
    file.write_text(STAGING + more)
    return file


def refused(project: Path, more: str = "") -> str:
    with pytest.raises(SettingsInvalid) as caught:
        read_stack_file(staging(project, more))
    return str(caught.value).partition("\n\n")[2].replace(f"{project}/", "")


def test_a_stack_has_what_it_says_and_else_what_the_extended_file_says(project: Path) -> None:
    file = staging(project, "    clusters: {lab: {pools: {h100: {nodes: {max: 4}}}}}\n")
    read = read_stack_file(file).settings
    assert (read.owner, read.environment) == ("me", "staging")
    pool = read.clusters["lab"].pools["h100"]
    assert (pool.nodes.min, pool.nodes.max) == (1, 4)


def test_a_list_is_taken_as_a_whole(project: Path) -> None:
    three = "{key: three, value: y, effect: NoExecute}"
    file = staging(project, f"    clusters: {{lab: {{pools: {{h100: {{taints: [{three}]}}}}}}}}\n")
    assert [taint["key"] for taint in pool_of(file)["taints"]] == ["three"]


def pool_of(file: Path) -> dict[str, Any]:
    return read_fleet(file)["clusters"]["lab"]["pools"]["h100"]


def test_null_takes_away_and_is_a_value_where_there_is_nothing(project: Path) -> None:
    values = "values: {logVerbosity: null, webhook: null, image: {tag: null}}"
    drivers = f"        drivers: {{nvidia: {{{values}}}}}\n"
    file = staging(project, f"    classes: null\n    clusters:\n      lab:\n{drivers}")
    fleet = read_fleet(file)
    assert "classes" not in fleet
    assert fleet["clusters"]["lab"]["drivers"]["nvidia"]["values"] == {"webhook": None, "image": {}}


def test_reports_errors_in_the_file_that_has_the_key(project: Path) -> None:
    base = project / "fleets" / "base.yaml"
    base.write_text(BASE.replace("machine: hgx-h100-8", "machine: hgx-h100-8\n            spot: 1"))
    output = refused(project, "    clusters:\n      lab: {kubeconfig: {contxt: x}}\n    ownr: you\n")
    assert "dra-fleet:fleet.ownr: unknown key\n  at: Pulumi.staging.yaml:7:5\n" in output
    assert "kubeconfig.contxt: unknown key\n  at: Pulumi.staging.yaml:6:26\n" in output
    assert "pools.h100.spot: unknown key for cloud existing\n  at: fleets/base.yaml:13:13\n" in output


def test_a_key_that_is_missing_in_both_is_reported_where_its_mapping_begins(project: Path) -> None:
    (project / "fleets" / "base.yaml").write_text(BASE.replace("    owner: me\n", ""))
    assert refused(project).startswith("dra-fleet:fleet.owner: is required\n  at: Pulumi.staging.yaml:2:3\n")


def test_keys_of_two_forms_are_reported_each_with_the_way_out(project: Path) -> None:
    output = refused(project, '    classes: {big: {cel: ["true"], memory: null, type: null}}\n')
    assert output.startswith(
        "dra-fleet:fleet.classes.big.driver: this key and the keys beside it belong to different forms of "
        "the mapping\n  at: fleets/base.yaml:17:13\n"
    )
    assert output.endswith(
        "  got: driver\n  fix: keep one form; driver: null removes the key of an extended file"
    )
    nulls = "driver: null, memory: null, type: null"
    file = staging(project, f'    classes: {{big: {{cel: ["true"], {nulls}}}}}\n')
    assert read_fleet(file)["classes"] == {"big": {"cel": ["true"]}}


def test_a_missing_file_is_reported_where_it_is_named(project: Path) -> None:
    (project / "fleets" / "base.yaml").unlink()
    assert refused(project) == (
        "dra-fleet:fleet.extends: names a file that does not exist\n"
        "  at: Pulumi.staging.yaml:3:5\n"
        "  got: fleets/base.yaml\n"
        "  fix: write the file, or the path of another from the folder of the project, or remove extends"
    )


def test_rejects_values_that_name_no_file(project: Path) -> None:
    file = staging(project)
    file.write_text(STAGING.replace("fleets/base.yaml", "[base]"))
    with pytest.raises(SettingsInvalid, match=r"fleet\.extends: names no file\n.*:3:5\n  got: \[\"base\"\]"):
        read_stack_file(file)


@pytest.mark.parametrize(
    "names",
    [
        ["fleets/base.yaml"],
        ["fleets/base.yaml", "fleets/a.yaml"],
        ["fleets/base.yaml", "Pulumi.staging.yaml"],
    ],
)
def test_files_that_extend_one_another_are_reported_with_the_way(project: Path, names: list[str]) -> None:
    round_trip = [*names, names[0]]
    for name, following in pairwise(round_trip):
        (project / name).write_text(f"{HEAD}    extends: {following}\n")
    assert refused(project) == (
        "dra-fleet:fleet.extends: leads back to a file that extends this one\n"
        f"  at: {names[-1]}:3:5\n  got: {' -> '.join(round_trip)}\n  fix: remove extends"
    )


def test_a_file_may_extend_one_that_extends_another(project: Path) -> None:
    (project / "fleets" / "2.yaml").write_text(f"{HEAD}    extends: fleets/base.yaml\n    owner: you\n")
    file = staging(project)
    file.write_text(STAGING.replace("base", "2"))
    assert read_stack_file(file).settings.owner == "you"


def test_a_stack_file_whose_fleet_is_in_a_named_file_may_extend_there(project: Path) -> None:
    (project / "fleets" / "staging.yaml").write_text(STAGING)
    file = project / "Pulumi.staging.yaml"
    file.write_text("config:\n  dra-fleet:fleet: {extends: fleets/staging.yaml}\n")
    assert read_stack_file(file).settings.owner == "me"


def test_the_fleet_of_another_time_extends_the_file_of_then(project: Path) -> None:
    file = project / "Pulumi.staging.yaml"
    then = {file: STAGING, project / "fleets" / "base.yaml": f"{HEAD}    owner: you\n"}
    assert fleet_at(file, then.get) == {"owner": "you", "environment": "staging"}


def test_the_program_merges_what_the_engine_hands_over(project: Path) -> None:
    handed: dict[str, Any] = {"extends": "fleets/base.yaml", "environment": "staging"}
    assert parsed(settled(handed, project)) == read_stack_file(staging(project)).settings
    (project / "fleets" / "base.yaml").write_text(BASE.replace("owner:", "ownr:"))
    with pytest.raises(SettingsInvalid) as caught:
        parsed(settled(handed, project))
    output = str(caught.value).replace(f"{project}/", "")
    assert "fleet.ownr: unknown key\n  at: fleets/base.yaml:3:5\n" in output
    assert "fix: write owner instead" in output


ENVIRONMENTS = PROJECT / "examples" / "environments"


@pytest.mark.parametrize(
    ("folder", "stacks"), [(ENVIRONMENTS, "{}.yaml"), (PROJECT / "templates" / "fleet", "Pulumi.{}.yaml")]
)
def test_staging_and_prod_share_owner_versions_classes_and_claims(folder: Path, stacks: str) -> None:
    one, other = (
        make_plan(read_stack_file(folder / stacks.format(name)).settings) for name in ("staging", "prod")
    )
    assert one.owner == other.owner
    assert (one.environment, other.environment) == ("staging", "production")
    for of_one, of_other in zip(one.clusters, other.clusters, strict=True):
        assert of_one.kubernetes == of_other.kubernetes
        assert of_one.releases == of_other.releases
        assert of_one.classes == of_other.classes
        assert of_one.templates == of_other.templates


def test_a_version_is_promoted_by_the_lines_that_staging_tried_it_with(tmp_path: Path) -> None:
    for name in ("base", "staging", "prod"):
        text = (ENVIRONMENTS / f"{name}.yaml").read_text(encoding="utf-8")
        (tmp_path / f"{name}.yaml").write_text(text.replace("examples/environments/", ""), encoding="utf-8")
    staging, prod = tmp_path / "staging.yaml", tmp_path / "prod.yaml"
    tried = "        drivers: {nvidia: {version: 25.8.1}}\n"
    subscription = "        subscription:"

    def versions() -> list[str]:
        plans = [make_plan(read_stack_file(file).settings) for file in (staging, prod)]
        return [plan.clusters[0].releases[0].version for plan in plans]

    def promote(file: Path) -> None:
        file.write_text(file.read_text().replace(subscription, f"{tried}{subscription}"))

    assert versions() == ["0.5.0", "0.5.0"]
    promote(staging)
    assert versions() == ["25.8.1", "0.5.0"]
    promote(prod)
    assert versions() == ["25.8.1", "25.8.1"]
