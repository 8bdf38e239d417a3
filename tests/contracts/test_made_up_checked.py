import json
import re
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.policy.rule_cases import Declared, said
from dra_fleet.review.assemble import exposure
from policies.rules.cluster import ALLOWED, FLOOR
from policies.rules.cluster import REQUIRE_MINIMUM_KUBERNETES as RULE
from tests.contracts.meadow_stack import stack
from tests.contracts.registering import MADE_UP, installed
from tests.engine.rehearsed import COMMAND
from tests.policy.test_gate_without_engine import ROOT, lines
from tests.proof.proof_helpers import proved

CLUSTER = Declared(
    type="meadow:index:Cluster", name="farm", properties={"name": "farm", "version": "1.36"}, protect=True
)
POOL = Declared(
    type="meadow:index:Pool",
    name="farm-hens",
    properties={"cluster": "farm", "name": "hens", "machine": "barn", "nodes": 1, "labels": {"a": "b"}},
)


def environment_with(folder: Path, *packages: Path) -> Path:
    """Return the Python of a separate environment with this one's packages and further packages."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    own = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})"
    (site / "all.pth").write_text("\n".join([own, *map(str, packages)]), encoding="utf-8")
    return folder / "bin" / "python"


def gate(folder: Path, *program: Declared, packages: tuple[Path, ...] = (MADE_UP,)) -> dict[str, Any]:
    """Return the gate's answer for a preview, from a process that has the made-up packages."""
    events = folder / "events.jsonl"
    events.write_text("\n".join(lines(ROOT, *program)), encoding="utf-8")
    python = environment_with(folder / "environment", *packages)
    done = subprocess.run(
        [str(python), "-I", str(COMMAND), "gate", "--events", str(events), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_its_cluster_and_its_pool_pass_the_rules(tmp_path: Path) -> None:
    verdict = gate(tmp_path, CLUSTER, POOL)
    assert (verdict["findings"], verdict["passed"]) == ([], True)


@pytest.mark.slow
def test_its_cluster_of_a_minor_without_dra_is_found(tmp_path: Path) -> None:
    old = replace(CLUSTER, properties={"name": "farm", "version": "1.33"})
    verdict = gate(tmp_path, old, POOL)
    assert verdict["passed"] is False
    assert {finding["rule"]: finding["message"] for finding in verdict["findings"]} == {
        RULE.name: said(
            old, "version is '1.33'", ALLOWED, f"upgrade, one minor at a time, to {FLOOR} or newer"
        )
    }


@pytest.mark.slow
def test_it_is_checked_only_where_its_package_is_installed(tmp_path: Path) -> None:
    old = replace(CLUSTER, properties={"name": "farm", "version": "1.33"})
    assert gate(tmp_path, old, packages=())["findings"] == []


@pytest.mark.slow
def test_cloud_without_a_required_method_is_named_in_one_line(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(MADE_UP, packages, ignore=shutil.ignore_patterns("__pycache__"))
    module = packages / "meadow_cloud" / "__init__.py"
    module.write_text(module.read_text().replace("def resources(", "def other("))
    error = gate(tmp_path, CLUSTER, packages=(packages,))["error"]
    assert "entry point meadow of group dra_fleet.clouds, meadow_cloud:CLOUD, cannot be loaded:" in error
    assert re.search(r"class Meadow .*abstract method '?resources'?", error)


@pytest.mark.parametrize(
    ("machine", "copies", "reason"),
    [
        ("barn", 3, "smoke: 3 x 1 devices are requested, and 2 can match"),
        ("coop", 1, "pool hens: its nodes publish no devices"),
    ],
)
def test_a_workload_that_its_machines_never_fit_is_refused(machine: str, copies: int, reason: str) -> None:
    with installed():
        (found,) = proved(stack(copies, machine=machine)).workloads
    assert (found.word, found.reason) == ("never", reason)


def test_a_workload_that_its_machines_always_fit_is_proved() -> None:
    with installed():
        (found,) = proved(stack(2, machine="barn")).workloads
    assert (found.word, found.at_min) == ("guaranteed", "guaranteed")


def test_how_its_clusters_are_reached_is_reported_in_its_own_words() -> None:
    with installed():
        facts = exposure(make_plan(parse(stack())), ())
    output = {item.subject: (item.text, item.level) for item in facts if item.cluster == "lab"}
    assert output["API server"] == ("stands on field north", "note")
    assert output["administrators"] == ("no one but who owns the field", "fine")
