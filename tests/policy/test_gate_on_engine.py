from pathlib import Path

import pytest

from dra_fleet.clouds.gke import TRIPLE
from dra_fleet.policy.gate import preset, running
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.policy.gate.record import read_record
from dra_fleet.policy.gate.report import SourceLine, places
from dra_fleet.policy.gate.verdict import Expected, check
from dra_fleet.policy.gate.without_engine import check_record
from dra_fleet.policy.rule_cases import UNKNOWN, Declared
from dra_fleet.rehearsal.tools import Toolset
from tests.policy.other_project import PACK, OtherProject

pytestmark = pytest.mark.engine

FLOOR = "cluster-require-minimum-kubernetes"
REFUSED = (
    "is {got}; allowed: 1.34 or newer "
    "(claims of devices need resource.k8s.io/v1, which is served from 1.34); "
)
POOL = Declared(
    type="gcp:container/nodePool:NodePool",
    name="gpus",
    properties={"nodeConfig": {"labels": {TRIPLE[0]: "true", TRIPLE[2]: "true"}}},
)

WITH_DEFAULT_PROVIDER = """
import pulumi
pulumi.CustomResource("kubernetes:core/v1:Namespace", "team", {"metadata": {"name": "team"}})
"""


WITH_A_CLUSTER = """
import pulumi

class Cluster(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("aws:eks/cluster:Cluster", name, {"version": "1.33"})

Cluster("checked")
"""


@pytest.fixture
def project(tmp_path: Path, tools: Toolset) -> OtherProject:
    """A third-party program without the pack."""
    return OtherProject(tmp_path, tools)


def cluster(token: str, version: object) -> Declared:
    return Declared(type=token, name="checked", properties={"version": version, "kubernetes": version})


@pytest.mark.parametrize("token", ["dra-fleet:clouds:ExistingCluster", "aws:eks/cluster:Cluster"])
def test_an_old_cluster_stops_preview_and_update(token: str, project: OtherProject) -> None:
    project.declare([cluster(token, "1.33")])
    for command in (["preview"], ["up", "--yes", "--skip-preview"]):
        result = project.run(*command, "--policy-pack", str(PACK))
        assert result.returncode != 0, result.stdout
        assert f"[mandatory] [severity: critical]  {FLOOR}" in result.stdout
        assert REFUSED.format(got="'1.33'") in result.stdout
    assert '"checked"' not in project.run("stack", "export").stdout


def test_a_version_that_is_unknown_at_preview_stops_it(project: OtherProject) -> None:
    project.declare([cluster("aws:eks/cluster:Cluster", UNKNOWN)])
    result = project.run("preview", "--policy-pack", str(PACK))
    assert result.returncode != 0, result.stdout
    assert "version is unknown at preview; allowed: a value that is known at preview" in result.stdout


def test_a_new_cluster_passes_with_no_plugin_of_a_cloud(project: OtherProject) -> None:
    arguments = ("up", "--yes", "--skip-preview", "--policy-pack", str(PACK))
    project.declare([cluster("gcp:container/cluster:Cluster", "1.35.8-gke.1036000")])
    # GKE's own words: the floor looks at minMasterVersion, which this program omits.
    assert "minMasterVersion is absent" in project.run(*arguments).stdout
    project.declare([cluster("dra-fleet:clouds:ExistingCluster", "1.34")])
    result = project.run(*arguments)
    assert result.returncode == 0, result.stdout


def test_a_missing_label_is_added_where_the_policy_config_says_so(
    project: OtherProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    project.declare([POOL])
    rule = "pool-require-dra-labels"
    config = preset.config("standard")
    found = check(
        running.preview("dev", directory=project.folder, config=config), Expected(preset="standard")
    )
    assert found.exit_code == 1
    assert rule in {finding.rule for finding in found.findings}

    config[rule]["enforcementLevel"] = "remediate"
    events = project.folder / "events.jsonl"
    record = running.preview("dev", directory=project.folder, config=config, save=events)
    corrected = check(record, Expected(preset="standard"))
    assert corrected.problems == ()
    assert rule not in {finding.rule for finding in corrected.findings}
    assert [(item.rule, item.urn.rpartition("::")[2]) for item in corrected.remediated] == [(rule, "gpus")]
    assert f'"{TRIPLE[1]}":"true"' in events.read_text(encoding="utf-8")


def test_saved_events_of_a_preview_without_the_pack_are_checked_alike(project: OtherProject) -> None:
    project.declare([cluster("aws:eks/cluster:Cluster", "1.33"), POOL])
    record = read_record(project.preview_as_json(streaming=True), "events")
    check_record(record, preset.config("standard"))
    found = check(record, Expected(preset="standard"))
    assert found.problems == ()
    assert {(finding.rule, finding.urn.rpartition("::")[2]) for finding in found.findings} >= {
        (FLOOR, "checked"),
        ("pool-require-dra-labels", "gpus"),
    }
    with pytest.raises(GateError, match="is what plain `pulumi preview --json` prints"):
        read_record(project.preview_as_json(streaming=False), "plain.json")


def test_resources_of_a_default_provider_are_checked_completely(
    tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OtherProject(tmp_path, tools, WITH_DEFAULT_PROVIDER)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    record = running.preview("dev", directory=project.folder, config=preset.config("standard"))
    assert any("core/v1:Namespace::team" in urn for urn in record.resources)
    found = check(record, Expected(preset="standard"))
    assert (found.problems, found.exit_code) == ((), 0)


def test_a_finding_on_what_is_there_is_shown_on_the_program_s_line(
    tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OtherProject(tmp_path, tools, WITH_A_CLUSTER)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    assert project.run("up", "--yes", "--skip-preview").returncode == 0
    known = places(project.folder, "dev", running.resources_in_state("dev", project.folder))
    place = known.of("urn:pulumi:dev::other::aws:eks/cluster:Cluster::checked")
    assert place == SourceLine("__main__.py", WITH_A_CLUSTER.splitlines().index('Cluster("checked")') + 1)
    assert running.resources_in_state("no-such-stack", project.folder) == ()
