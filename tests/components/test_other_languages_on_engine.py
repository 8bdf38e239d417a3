import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.parts import PARTS
from dra_fleet import clouds
from dra_fleet.rehearsal import providers
from dra_fleet.rehearsal.environment import environment
from dra_fleet.rehearsal.providers import cloud_plugin
from dra_fleet.rehearsal.tools import Toolset, for_language, recipes
from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine

COMPONENTS = Path(__file__).resolve().parents[2] / "components"


class YamlProgram:
    """A project with a YAML program and this repository's components; `more` variables for what it starts."""

    def __init__(self, folder: Path, tools: Toolset, more: Mapping[str, str]) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        (folder / "state").mkdir()
        self.write({})
        self.pulumi = str(tools.pulumi)
        self.environment = {
            **more,
            "PATH": os.pathsep.join([str(for_language(recipes.YAML_HOST).parent), more["PATH"]]),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
        }
        providers.install_kubernetes(folder / "home", tools.kubernetes_provider)
        assert self.run("stack", "init", "dev").returncode == 0

    def write(self, resources: dict[str, Any], **outputs: str) -> None:
        """Write the program."""
        program = {
            "name": "theirs",
            "runtime": "yaml",
            "plugins": {"providers": [{"name": "dra-fleet", "path": str(COMPONENTS)}]},
            "resources": resources,
            "outputs": outputs,
        }
        text = yaml.safe_dump(json.loads(json.dumps(program)))  # without aliases
        (self.folder / "Pulumi.yaml").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, stderr: int = subprocess.STDOUT) -> subprocess.CompletedProcess[str]:
        """Run the engine; both outputs come back as one text."""
        return subprocess.run(
            [self.pulumi, "--non-interactive", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            check=False,
            timeout=600,
        )

    def output(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def resources(self) -> list[dict[str, Any]]:
        """The resources of the state."""
        return self.output("stack", "export")["deployment"].get("resources", [])


@pytest.fixture
def program(tmp_path: Path, tools: Toolset) -> YamlProgram:
    """A program that declares nothing yet, and has no cluster: previews need none."""
    return YamlProgram(tmp_path, tools, os.environ)


@pytest.fixture
def with_clusters(tmp_path: Path, rehearsal_simulator: RehearsalWorld, tools: Toolset) -> YamlProgram:
    """The same beside simulated clusters."""
    return YamlProgram(tmp_path, tools, environment(rehearsal_simulator.home, tools))


def fleet(context: str, copies: float = 2.0) -> dict[str, Any]:
    """A fleet on a cluster that exists; numbers as other languages send them."""
    pool = {"machine": "hgx-h100-8", "nodes": {"min": 1.0, "max": 1.0}, "nodeSelector": {"pool": "h100"}}
    cluster = {
        "cloud": "existing",
        "kubeconfig": {"context": context},
        "drivers": {},
        "pools": {"h100": pool},
    }
    return {
        "type": "dra-fleet:index:Fleet",
        "properties": {
            "owner": "ml",
            "environment": "development",
            "kubernetes": "1.36",
            "namespace": "other-languages",
            "clusters": {"site": cluster},
            "classes": {"other-languages": {"driver": "nvidia", "type": "gpu", "memory": {"min": "20Gi"}}},
            "claims": {"one": {"requests": {"gpu": {"class": "other-languages"}}}},
            "workloads": {"train": {"cluster": "site", "claim": "one", "copies": copies}},
        },
    }


def test_a_yaml_program_s_fleet_is_proved_at_preview(program: YamlProgram) -> None:
    program.write({"fleet": fleet("none", copies=9.0)})
    refused = program.run("preview")
    assert refused.returncode != 0
    assert "dra-fleet:index:Fleet resource 'fleet' has a problem: the proof failed: 1 error" in refused.stdout
    assert "workloads.train: on cluster site, never" in refused.stdout
    program.write({"fleet": fleet("none")}, classes="${fleet.clusters}")
    proved = program.run("preview")
    assert (proved.returncode, "+ 8 to create" in proved.stdout) == (0, True), proved.stdout


def test_a_yaml_program_s_fleet_is_created_and_deleted(
    with_clusters: YamlProgram, rehearsal_simulator: RehearsalWorld
) -> None:
    program = with_clusters
    program.write({"fleet": fleet(rehearsal_simulator.cluster().name)}, classes="${fleet.clusters}")
    done = program.run("up", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout
    types = {resource["type"]: resource for resource in program.resources()}
    assert types["kubernetes:batch/v1:Job"]["inputs"]["spec"]["completions"] == 2
    assert types["dra-fleet:clouds:ExistingCluster"]["parent"] == types["dra-fleet:index:Fleet"]["urn"]
    shown = program.output("stack", "output", "--json")
    assert shown["classes"]["site"]["classes"] == ["other-languages"]
    again = program.run("preview", "--expect-no-changes")
    assert again.returncode == 0, again.stdout
    assert program.run("destroy", "--yes", "--skip-preview").returncode == 0


@pytest.mark.full
def test_a_cluster_with_its_pools_and_a_wrong_input(program: YamlProgram) -> None:
    settings = fleet("none")["properties"]
    cluster: dict[str, Any] = {
        "type": "dra-fleet:index:Cluster",
        "properties": {
            "owner": "ml",
            "environment": "development",
            "kubernetes": "1.36",
            "cluster": settings["clusters"]["site"],
        },
    }
    program.write({"lab": cluster}, pools="${lab.clusters}")
    done = program.run("preview", "--json")
    assert done.returncode == 0, done.stdout
    assert "dra-fleet:index:Cluster$dra-fleet:clouds:ExistingCluster::lab" in done.stdout

    site = settings["clusters"]["site"]
    cluster["properties"]["cluster"] = {**site, "pool": {}}
    program.write({"lab": cluster})
    mistyped = program.run("preview")
    assert mistyped.returncode != 0
    assert "Existing properties are: pools" in mistyped.stdout

    pool = {**site["pools"]["h100"], "machine": "hgx-h100-9"}
    cluster["properties"]["cluster"] = {**site, "pools": {"h100": pool}}
    program.write({"lab": cluster})
    refused = program.run("preview")
    assert refused.returncode != 0
    assert "dra-fleet:index:Cluster resource 'lab' has a problem: 1 error in the stack" in refused.stdout
    assert "hgx-h100-8" in refused.stdout


def test_a_subnet_can_be_an_output_of_another_resource(with_clusters: YamlProgram) -> None:
    program = with_clusters
    providers.install(Path(program.environment["PULUMI_HOME"]), Path(sys.executable), cloud_plugin("aks"))
    common: dict[str, Any] = {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.36",
        "drivers": {},
    }
    node = {"machine": "hgx-h100-8", "nodes": {"min": 1, "max": 1}, "nodeSelector": {"pool": "h100"}}
    other = {
        "type": "dra-fleet:index:ExistingCluster",
        "properties": {**common, "kubeconfig": "of the site", "pools": {"h100": node}},
    }
    aks = {
        "type": "dra-fleet:index:AksCluster",
        "properties": {
            **common,
            "region": "westeurope",
            "access": {"authorizedRanges": ["203.0.113.0/24"]},
            "create": {"resourceGroup": "ml", "subnet": '${other.kubeconfigs["other"]}'},
            "pools": {"a10": {"machine": "Standard_NV6ads_A10_v5", "nodes": {"min": 1, "max": 1}}},
        },
    }
    program.write({"other": other, "ml": aks})
    done = program.run("preview", "--json", stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stdout + done.stderr
    steps = json.loads(done.stdout)["steps"]
    (pool,) = (step["newState"] for step in steps if step["urn"].endswith("AgentPool::ml-a10"))
    assert pool["inputs"]["vnetSubnetID"] == "[secret]"  # as the output that it is


def test_the_engine_reads_the_schema_of_the_folder(program: YamlProgram) -> None:
    schema = program.output("package", "get-schema", str(COMPONENTS / "pulumi-resource-dra-fleet"))
    of_clouds = {f"dra-fleet:index:{cloud.capitalize()}Cluster" for cloud in clouds.BUILT_IN}
    fleets = {"dra-fleet:index:Cluster", "dra-fleet:index:Fleet", *of_clouds}
    assert set(schema["resources"]) == {*fleets, *PARTS}
    inputs = schema["resources"]["dra-fleet:index:Fleet"]["inputProperties"]
    assert inputs["owner"]["type"] == "string"
    assert inputs["claims"]["description"] == "ResourceClaimTemplates by name"
