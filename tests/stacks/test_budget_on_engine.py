import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dra_fleet.rehearsal.tools import Toolset
from tests.clouds.aks.aks_fleets import vgpu
from tests.policy.other_project import STACK, OtherProject

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]
REFUSED = "budget.perHour: is less than the fleet costs at its maximum"


@pytest.fixture
def project(tmp_path: Path, tools: Toolset) -> OtherProject:
    """This program, with a fleet of AKS that costs more than it may."""
    made = OtherProject(tmp_path, tools, (ROOT / "__main__.py").read_text(encoding="utf-8"))
    shutil.copy(ROOT / "Pulumi.yaml", made.folder)
    made.run("stack", "init", "dev")
    config = {"dra-fleet:fleet": {**vgpu(), "budget": {"perHour": 0.01}}}
    (made.folder / "Pulumi.dev.yaml").write_text(json.dumps({"config": config}), encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param("pulumi up --yes --skip-preview --non-interactive --stack dev", 1, id="update"),
        pytest.param("dra-fleet gate dev --json", 3, id="gate"),
        pytest.param("dra-fleet review dev --out review", 1, id="review"),
    ],
)
def test_it_is_refused_before_the_first_resource(command: str, code: int, project: OtherProject) -> None:
    done = subprocess.run(
        command.split(),
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, REFUSED in done.stdout) == (code, True), done.stdout + done.stderr
    state = json.loads(project.run("stack", "export", "--stack", "dev").stdout)
    assert {resource["type"] for resource in state["deployment"].get("resources", [])} <= {STACK}
