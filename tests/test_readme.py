import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
START = (Path(__file__).parents[1] / "docs" / "start.md").read_text(encoding="utf-8")
QUICK_START = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
pytestmark = pytest.mark.slow


def shell(commands: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def test_quick_start_prints_its_messages_in_their_order(tmp_path: Path) -> None:
    [block] = QUICK_START
    lines = [line for line in block.splitlines() if line != "$ pip install dra-fleet"]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    assert len(commands) == 4
    printed = shell("\n".join(commands), tmp_path)
    shown = [line.removesuffix("...").strip() for line in lines if not line.startswith("$ ")]
    assert re.search(".*".join(map(re.escape, shown)), printed, re.DOTALL), printed


def test_start_page_shows_what_prove_prints(tmp_path: Path) -> None:
    [shown] = re.findall(r"```text\n(.*?)```", START, re.DOTALL)
    shell("dra-fleet init gpu-fleet", tmp_path)
    printed = shell("dra-fleet prove dev", tmp_path / "gpu-fleet").splitlines()
    assert shown.splitlines() == [line.rstrip() for line in printed]


def test_messages_of_the_readme_are_what_prove_and_check_print(tmp_path: Path) -> None:
    memory, manifest, copies = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    shell("dra-fleet init gpu-fleet", tmp_path)
    project = tmp_path / "gpu-fleet"
    fleet = project / "fleets" / "1.yaml"
    whole = fleet.read_text("utf-8")
    fleet.write_text(whole.replace("min: 20Gi", "min: 80Gi"), "utf-8")
    assert memory in shell("dra-fleet prove dev", project).replace(f"{project}/", "")
    fleet.write_text(whole.replace("copies: 4", "copies: 12"), "utf-8")
    assert copies in shell("dra-fleet prove dev", project).replace(f"{project}/", "")
    fleet.write_text(whole, "utf-8")
    (project / "pod.yaml").write_text(POD, "utf-8")
    assert manifest in shell("dra-fleet check pod.yaml --stack dev", project)


POD = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: mig-1g, namespace: ml}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: mig.nvidia.com}
---
apiVersion: v1
kind: Pod
metadata: {name: infer, namespace: ml}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: mig-1g}]
  containers: [{name: infer, image: example.com/infer, resources: {claims: [{name: gpu}]}}]
"""
