from pathlib import Path

import pytest

from dra_fleet.core.places import ROOT as PROJECT
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.project import StackSource, find_stack
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.session import prepare_engine, up
from dra_fleet.rehearsal.simulator.hardware_file import Hardware
from dra_fleet.rehearsal.stack_copy import PASSPHRASE
from dra_fleet.rehearsal.standing import read_hardware, refuse_mismatch
from dra_fleet.rehearsal.tools import Toolset
from dra_fleet.rehearsal.tools.toolset import playable_minors


def test_clusters_that_a_cloud_makes_need_no_hardware_file() -> None:
    source = find_stack(str(PROJECT / "examples" / "aks-vgpu.yaml"))
    plan = make_plan(read_stack_file(source.file).settings)
    assert not source.hardware.exists()
    assert read_hardware(plan, source).clusters == {}


def test_a_cluster_of_another_minor_than_its_hardware_is_refused() -> None:
    source = find_stack("dev")
    plan = make_plan(read_stack_file(source.file).settings)
    hardware = Hardware.parse({"clusters": {"lab": {"kubernetes": "v1.35.4"}}}, "test")
    with pytest.raises(RehearsalError) as refused:
        refuse_mismatch(plan, hardware, source)
    assert str(refused.value) == (
        f"cluster lab: the stack says kubernetes 1.36, {source.hardware} says v1.35.4; make them agree"
    )


def test_a_cluster_that_the_hardware_file_forgets_is_named() -> None:
    source = find_stack("dev")
    plan = make_plan(read_stack_file(source.file).settings)
    with pytest.raises(RehearsalError) as refused:
        refuse_mismatch(plan, Hardware(clusters={}), source)
    assert str(refused.value) == f"cluster lab is not in {source.hardware}; describe its nodes there"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home.at(tmp_path / "home")
    found.create()
    return found


@pytest.fixture
def toolset(home: Home) -> Toolset:
    place = home.root
    return Toolset(
        pulumi=place,
        language_host_dir=place,
        helm=place,
        kwok=place,
        controlplane=place,
        kubernetes_provider=place,
        kubernetes_provider_version="published",
    )


def test_a_passphrase_that_was_cut_off_while_it_was_written_is_written_again(
    home: Home, toolset: Toolset
) -> None:
    home.passphrase_file.touch()
    prepare_engine(home, toolset)
    assert home.passphrase_file.read_text() == PASSPHRASE
    assert home.passphrase_file.stat().st_mode & 0o777 == 0o600


def test_the_engine_writes_no_logs_run_after_run(home: Home, toolset: Toolset) -> None:
    for _ in range(2):
        prepare_engine(home, toolset)
        assert home.engine_logs.is_file()


def test_logs_that_the_engine_has_of_an_earlier_version_stay(home: Home, toolset: Toolset) -> None:
    home.engine_logs.mkdir(parents=True)
    prepare_engine(home, toolset)
    assert home.engine_logs.is_dir()


def test_a_minor_without_a_pinned_control_plane_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "Pulumi.next.yaml"
    written = (PROJECT / "examples" / "any-gpu-by-memory.yaml").read_text("utf-8")
    newest = kubernetes_facts().newest
    assert newest in playable_minors()
    monkeypatch.setattr(f"{playable_minors.__module__}.playable_minors", lambda: ("1.34", "1.35", "1.36"))
    file.write_text(written.replace('kubernetes: "1.36"', f'kubernetes: "{newest}"'), encoding="utf-8")
    home = Home.at(tmp_path / "home")
    source = StackSource(name="next", file=file, hardware=tmp_path / "none.yaml")
    with pytest.raises(RehearsalError) as refused:
        up(source, home, Silent(), wait_seconds=0)
    assert str(refused.value).splitlines()[0] == (
        f"cluster lab: Kubernetes {newest} cannot be rehearsed, for no control plane of it is pinned here; "
        "allowed: 1.34, 1.35, 1.36; prove, check and the gate know it all the same"
    )
    assert not home.root.exists()
