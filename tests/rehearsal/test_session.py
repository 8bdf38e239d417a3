import sys
from pathlib import Path
from typing import Any

import pytest

from dra_fleet import drivers
from dra_fleet.clusters.allocation import WORKLOAD, ClusterAllocation
from dra_fleet.clusters.pending.state import ClusterState
from dra_fleet.core.places import ROOT as PROJECT
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.project import StackSource, find_stack
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.session import choices, prepare_engine, runnable, up
from dra_fleet.rehearsal.simulator.hardware_file import Hardware
from dra_fleet.rehearsal.simulator.served_by import ANY, ServedBy
from dra_fleet.rehearsal.stack_copy import PASSPHRASE
from dra_fleet.rehearsal.standing import read_hardware, refuse_mismatch
from dra_fleet.rehearsal.status import ClusterStatus, StackStatus, other_pods_pending, plugin_not_started
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


def test_the_command_line_counts_before_the_hardware_file() -> None:
    described = {"nvidia": "real"}
    assert choices((), described) == described
    assert choices(["nvidia=/bin/driver"], described) == {"nvidia": "/bin/driver"}
    assert choices(["simulated", "example=/x"], described) == {
        **dict.fromkeys(drivers.names(), "simulated"),
        "example": "/x",
    }


@pytest.mark.parametrize(
    ("option", "text"),
    {
        "fake": "--drivers fake: say simulated, real or DRIVER=PATH",
        "nvidia=": "--drivers nvidia=: say simulated, real or DRIVER=PATH",
        "nvidea=/x": "there is no driver nvidea to choose a program for; allowed: nvidia, amd, intel, tpu, "
        "dranet, dracpu, example",
    }.items(),
)
def test_other_choices_are_refused(option: str, text: str) -> None:
    with pytest.raises(RehearsalError) as refused:
        choices([option], {})
    assert str(refused.value) == text


def test_a_script_and_a_program_of_this_machine_may_serve(tmp_path: Path) -> None:
    script = tmp_path / "driver"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert runnable("example", script) == script
    assert runnable("example", type(tmp_path)(sys.executable)).is_file()


def test_rejects_tools_that_cannot_run_here(tmp_path: Path) -> None:
    program = tmp_path / "driver"
    with pytest.raises(RehearsalError, match=r"driver: there is no such file$"):
        runnable("example", program)
    program.write_bytes(b"\x7fELF" + bytes(14) + (0x16).to_bytes(2, "little"))
    with pytest.raises(RehearsalError, match=r"driver: the file is not executable; chmod \+x it$"):
        runnable("example", program)
    program.chmod(0o755)
    with pytest.raises(
        RehearsalError, match=r"the program is for another architecture, this machine is \w+; build"
    ):
        runnable("example", program)


def test_the_home_remembers_chosen_tools(tmp_path: Path) -> None:
    home, program = Home.at(tmp_path), tmp_path / "driver"
    assert ServedBy.read(home).program("nvidia", "0.5.0") is None
    ServedBy(programs={"nvidia": {"0.5.0": program}, "example": {ANY: program}}).write(home)
    found = ServedBy.read(home)
    assert found.program("nvidia", "0.5.0") == program
    assert found.program("nvidia", "0.4.1") is None
    assert found.program("example", "0.4.0") == program


def plugin(*, ready: bool) -> dict[str, Any]:
    condition = {"type": "Ready", "status": str(ready)}
    waiting = {"name": "gpus", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "no driver"}}}
    return {
        "metadata": {"name": "p", "namespace": "d"},
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "gpus", "command": ["bash", "-c"], "args": ["gpu-kubelet-plugin -v 4"]}],
        },
        "status": {"conditions": [condition], "containerStatuses": [] if ready else [waiting]},
    }


def test_a_plugin_that_never_started_is_named_with_its_node_and_its_cause() -> None:
    assert plugin_not_started(plugin(ready=False)) == (
        "the plugin of gpu.nvidia.com on node n1 has not started, so its devices are missing: "
        "CrashLoopBackOff: no driver"
    )


def test_a_plugin_whose_slices_are_refused_runs_and_is_named() -> None:
    logged = "processing ResourceSlice objects of gpu.nvidia.com: is forbidden"
    refused = plugin(ready=True)
    refused["metadata"]["annotations"] = {"rehearsal.dra-fleet/refused-slices": logged}
    assert plugin_not_started(refused) == (
        "the plugin of gpu.nvidia.com on node n1 runs, but its devices are missing, for the API server "
        f"refuses its slices: {logged}"
    )


def test_nothing_is_said_of_a_plugin_that_runs_or_of_another_pod() -> None:
    other = {**plugin(ready=False), "spec": {"nodeName": "n1", "containers": [{"name": "web"}]}}
    assert (plugin_not_started(plugin(ready=True)), plugin_not_started(other)) == ("", "")


def test_a_stack_whose_plugin_does_not_run_is_not_complete() -> None:
    nothing = ClusterAllocation(pools={}, workloads={})

    def stack(*output: str) -> StackStatus:
        cluster = ClusterStatus(kubernetes="v1.36.3", allocation=nothing, plugins_not_started=output)
        return StackStatus(clusters={"lab": cluster})

    assert stack().complete
    assert not stack("the plugin of x").complete
    assert stack("the plugin of x").plugins_not_started == ["cluster lab: the plugin of x"]


def test_pending_pods_that_the_stack_did_not_declare_are_listed_with_their_cause() -> None:
    def pod(name: str, phase: str, **labels: str) -> dict[str, Any]:
        return {
            "metadata": {"name": name, "namespace": "lab", "labels": labels},
            "spec": {"containers": [{"name": "c"}], "nodeSelector": {"example.com/pool": "none"}},
            "status": {"phase": phase},
        }

    pods = [
        pod("by-hand", "Pending"),
        pod("running", "Running"),
        pod("train-0", "Pending", **{WORKLOAD: "train"}),
    ]
    node: dict[str, Any] = {"metadata": {"name": "n1", "labels": {}}, "spec": {}, "status": {}}
    state = ClusterState(minor="1.36", nodes=[node], pods=pods, slices=[], claims=[])
    (sentence,) = other_pods_pending(state, {"train": ("lab", 1)})
    assert sentence.startswith("pod lab/by-hand is Pending: ")
    assert "example.com/pool" in sentence
