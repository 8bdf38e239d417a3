import json
import re
import tomllib
from pathlib import Path

from dra_fleet.rehearsal.tools.recipes import needed_go

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
RELEASE = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


def images() -> dict[str, str]:
    """Versions of the images that the Dockerfile starts from, by name."""
    found = re.findall(r"(?:^FROM |--from=)([a-z]+):([\d.]+)", DOCKERFILE, re.MULTILINE)
    return dict(found)


def stages() -> list[str]:
    return re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE)


def test_python_and_go_of_the_image_are_those_that_releases_are_tested_with() -> None:
    assert images() == {
        "python": re.findall(r'python-version: "(.+)"', RELEASE)[0],
        "golang": re.findall(r'go-version: "(.+)"', RELEASE)[0],
    }
    assert needed_go().startswith(f"{images()['golang']}.")


def test_the_image_is_made_of_what_the_package_is_made_of() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packed = {name.strip("/") for name in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    files = {"LICENSE", "README.md", "pyproject.toml", "requirements.lock"}
    assert (lines[0], let_in) == ("*", packed | files)
    assert "--constraint /opt/dra-fleet/source/requirements.lock" in DOCKERFILE


def test_the_image_runs_as_a_user_and_builds_no_tool() -> None:
    for stage in re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]:
        assert re.findall(r"^USER (\S+)$", stage, re.MULTILINE)[-1] == "fleet"
    assert "RUN DRA_FLEET_TOOLS=download dra-fleet rehearse tools --minors\n" in DOCKERFILE


def test_the_devcontainer_is_a_stage_of_the_image() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    build = container["build"]
    assert (ROOT / ".devcontainer" / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert build["target"] in stages()
    assert container["remoteUser"] == "fleet"


def test_the_workflow_lints_and_builds_every_stage() -> None:
    workflow = (ROOT / ".github" / "workflows" / "image.yml").read_text(encoding="utf-8")
    assert "hadolint" in workflow
    assert re.findall(r"--target (\S+)", workflow) == stages()
