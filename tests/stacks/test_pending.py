import json
import re
from pathlib import Path

import pulumi
import pytest

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from stacks import pending
from stacks.pending import PendingCheck
from tests.clouds.aks.aks_fleets import vgpu

URN = "urn:pulumi:dev::fleet::aws:eks/cluster:Cluster::train"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `pulumi` on PATH that exports a state with a pending creation, in a deployment of stack dev."""
    operations = [
        {"type": "creating", "resource": {"urn": URN, "custom": True}},
        {"type": "creating", "resource": {"urn": f"{URN}-component"}},
        {"type": "updating", "resource": {"urn": f"{URN}-other", "custom": True}},
    ]
    state = json.dumps({"deployment": {"pending_operations": operations}})
    (tmp_path / "pulumi").write_text(f"#!/bin/sh\necho '{state}'\n")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", bool)
    monkeypatch.setattr(pulumi, "get_stack", lambda: "dev")
    monkeypatch.setattr(pending, "is_destroy", bool)
    return tmp_path


def test_a_pending_creation_stops_a_deployment_and_names_the_command(engine: Path) -> None:
    del engine
    message = (
        "an interrupted run left pending: the creation of train. "
        "Run `dra-fleet recover dev --yes`, then this command again"
    )
    with pytest.raises(pulumi.RunError, match=re.escape(message)):
        PendingCheck(make_plan(parse(vgpu()))).require()


def test_a_preview_checks_nothing(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del engine
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    PendingCheck(make_plan(parse(vgpu()))).require()


def test_a_state_that_cannot_be_read_stops_nothing(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (engine / "pulumi").write_text("#!/bin/sh\nexit 1\n")
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", said.append)
    PendingCheck(make_plan(parse(vgpu()))).require()
    assert ["pending creations are unknown" in line for line in said] == [True]
