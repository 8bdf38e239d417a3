import json
import runpy
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from packaging.requirements import Requirement
from typer.testing import CliRunner, Result

from dra_fleet import clouds
from dra_fleet.cli import init
from dra_fleet.cli.main import app

NOT_WRITTEN = (
    "the project cannot be written into {}: {}; fix: free or change what stands there, or name another folder"
)
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one, namespace: gpu-workloads}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: CLASS}}]}}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in a folder that is not a project."""
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def project_file(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / "Pulumi.yaml").read_text(encoding="utf-8"))


def test_a_new_project_proves_and_checks_from_any_folder_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("init", "own").exit_code == 0
    (tmp_path / "own" / "manifests").mkdir()
    for name in ("at-least-20g", "gpu.intel.com"):
        claim = tmp_path / "own" / "manifests" / f"{name}.yaml"
        claim.write_text(CLAIM.replace("CLASS", name), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "own" / "manifests")

    proof = json.loads(run("prove", "dev", "--json").stdout)

    assert proof["fits"] is True
    assert [run("prove", stack).exit_code for stack in ("staging", "prod")] == [0, 0]
    assert [item["word"] for item in proof["workloads"]] == ["guaranteed"]
    assert run("check", "at-least-20g.yaml", "--stack", "dev").exit_code == 0
    assert run("check", "gpu.intel.com.yaml", "--stack", "dev").exit_code == 1


def test_a_new_project_is_called_as_its_folder_or_as_was_said(tmp_path: Path) -> None:
    assert run("init", "own").exit_code == 0
    assert project_file(tmp_path / "own") == {
        "name": "own", "description": init.DESCRIPTION,
        "runtime": {"name": "python", "options": {"toolchain": "pip", "virtualenv": ".venv"}},
    }  # fmt: skip
    assert run("init", "other", "--name", "acme.gpus", "--description", 'acme: "GPUs" #1').exit_code == 0
    assert project_file(tmp_path / "other")["name"] == "acme.gpus"
    assert project_file(tmp_path / "other")["description"] == 'acme: "GPUs" #1'
    assert (tmp_path / "other" / "README.md").read_text().startswith('# acme.gpus\n\nacme: "GPUs" #1\n')


def test_the_rule_of_a_new_project_holds_to_its_cases(tmp_path: Path) -> None:
    assert run("init", "own").exit_code == 0
    tested = run("rules", "test", str(tmp_path / "own" / "rules"))
    assert (tested.exit_code, tested.stdout) == (0, "namespace-require-owner: passed\n1 rules, 0 failed\n")


def test_no_file_of_a_new_project_has_a_word_of_the_template_left() -> None:
    files = init.filled("own", "mine")
    assert [name for name, text in files.items() if "${PROJECT}" in text or "${DESC" in text] == []
    assert sorted(files) == [
        ".github/workflows/fleet.yaml", ".gitignore", "Pulumi.dev.yaml", "Pulumi.prod.yaml",
        "Pulumi.staging.yaml", "Pulumi.yaml", "README.md", "__main__.py", "fleets/1.yaml",
        "hardware/dev.yaml", "requirements.txt", "rules/cases/namespace_require_owner.py",
        "rules/namespace_require_owner.py",
    ]  # fmt: skip


def test_a_new_project_asks_on_a_terminal_for_what_no_option_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def answer(question: str, *, default: str) -> str:
        asked.append((question, default))
        return "acme"

    monkeypatch.setattr("typer.prompt", answer)
    monkeypatch.setattr("dra_fleet.cli.init.on_terminal", lambda: True)

    assert run("init", "own").exit_code == 0
    assert asked == [("project name", "own"), ("description", init.DESCRIPTION)]
    assert project_file(tmp_path / "own")["name"] == "acme"

    asked.clear()
    assert run("init", "second", "--name", "one", "--description", "two").exit_code == 0
    assert asked == []


def test_a_script_reads_the_created_files(tmp_path: Path) -> None:
    output = json.loads(run("init", "own", "--json").stdout)
    assert output["project"] == "own"
    assert output["folder"] == str(tmp_path / "own")
    assert [name for name in output["files"] if not (tmp_path / "own" / name).is_file()] == []


def test_an_empty_folder_and_an_empty_repository_are_filled(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert run("init", "--name", "own").exit_code == 0
    assert project_file(tmp_path)["name"] == "own"
    assert [path.name for path in tmp_path.glob(".init-*")] == []


def test_a_folder_that_holds_anything_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    refused = run("init")
    assert str(refused.exception) == (
        f"{tmp_path} is not empty, it has notes.txt; nothing in it was changed; "
        "fix: name a folder that does not exist yet, or empty this one"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert str(run("init", "notes.txt").exception) == (
        "notes.txt is a file; fix: name a folder that does not exist yet"
    )


@pytest.mark.parametrize("name", ["a b", "", "a/b", "ü", "x" * 101])
def test_a_name_that_the_engine_would_refuse_is_refused_before_anything_is_made(
    name: str, tmp_path: Path
) -> None:
    assert str(run("init", "own", "--name", name).exception) == (
        f"{name!r} is not a valid project name; allowed: at most 100 letters, digits, hyphens, "
        "underscores and periods; fix: choose one with --name"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def full(path: Path, text: str, **options: Any) -> int:
        if path.name == "README.md":
            raise OSError(28, "No space left on device")
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    assert str(run("init", "own").exception) == NOT_WRITTEN.format("own", "No space left on device")
    assert list((tmp_path / "own").iterdir()) == []


def test_a_place_that_takes_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "at-all")
    (tmp_path / "file").touch()
    for folder, why in (("dangling", "File exists"), ("file/own", "Not a directory")):
        assert str(run("init", folder).exception) == NOT_WRITTEN.format(folder, why)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file"]


def test_a_new_project_installs_a_version_that_is_this_one() -> None:
    (line,) = (init.TEMPLATE / "requirements.txt").read_text(encoding="utf-8").splitlines()[1:]
    requested = Requirement(line)
    assert requested.name == "dra-fleet"
    assert requested.specifier.contains(run("--version").stdout.split()[1])


@pytest.mark.parametrize(
    ("vendor", "cloud"), [("aws", "eks"), ("azure", "aks"), ("gcp", "gke"), ("Alibaba", "ack")]
)
def test_a_vendor_instead_of_its_cloud_gets_the_cloud_proposed(vendor: str, cloud: str) -> None:
    result = run("init", "fleet", "--cloud", vendor)
    assert result.exit_code == 2
    assert (
        f"got: {vendor}; allowed: existing, aks, eks, gke, ack; fix: did you mean {cloud}?" in result.output
    )


def test_every_cloud_has_a_project_and_a_program() -> None:
    assert sorted(init.CLOUDS) == sorted(clouds.BUILT_IN)
    assert {path.stem for path in (init.TEMPLATES / "cloud" / "clusters").iterdir()} == {*init.CLOUDS} - {
        "existing"
    }


@pytest.mark.parametrize("cloud", sorted({*init.CLOUDS} - {"existing"}))
def test_project_with_a_cloud_proves_its_stacks(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("init", "own", "--cloud", cloud).exit_code == 0
    monkeypatch.chdir(tmp_path / "own")
    proofs = {name: json.loads(run("prove", name, "--json").stdout) for name in ("dev", "staging", "prod")}
    assert [proof["fits"] for proof in proofs.values()] == [True, True, True]
    assert {one["word"] for proof in proofs.values() for one in proof["workloads"]} == {"guaranteed"}
    shared = yaml.safe_load((tmp_path / "own" / "fleets" / "1.yaml").read_text())
    assert shared["config"]["dra-fleet:fleet"]["clusters"]["gpu"]["cloud"] == cloud
    assert not (tmp_path / "own" / "hardware").exists()
    requirement = (tmp_path / "own" / "requirements.txt").read_text().splitlines()[-1]
    assert cloud in Requirement(requirement).extras


@pytest.mark.slow
@pytest.mark.parametrize("cloud", init.CLOUDS)
def test_project_with_a_program_passes_its_own_test(cloud: str, tmp_path: Path) -> None:
    assert run("init", "own", "--program", "--cloud", cloud).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == [
        ".gitignore", "Pulumi.yaml", "README.md", "__main__.py", "requirements.txt", "test_program.py",
    ]  # fmt: skip
    runpy.run_path(str(tmp_path / "own" / "test_program.py"))["test_pods_claim_devices_that_fit"]()


@pytest.mark.slow
def test_test_of_a_new_program_fails_if_a_claim_does_not_fit(tmp_path: Path) -> None:
    assert run("init", "own", "--program").exit_code == 0
    main = tmp_path / "own" / "__main__.py"
    main.write_text(main.read_text().replace("REPLICAS = 8", "REPLICAS = 9"))
    with pytest.raises(pulumi.RunError, match="9 x 1 devices are requested, and 8 can match"):
        runpy.run_path(str(tmp_path / "own" / "test_program.py"))["test_pods_claim_devices_that_fit"]()


def test_unknown_cloud_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    refused = run("init", "own", "--cloud", "azure")
    assert refused.exit_code == 2
    for word in ("azure", "existing", "aks", "eks", "gke", "ack"):
        assert word in refused.stderr
    assert list(tmp_path.iterdir()) == []
