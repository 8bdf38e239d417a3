import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from dra_fleet.rehearsal import reporting
from dra_fleet.rehearsal.tools import ToolsError, ensure, recipes, releases, sources, toolset
from tests.rehearsal.tools.tool_workshop import REHEARSE_TOOLS, Reported, Workshop

EVERY_TOOL = [
    "controlplane",
    "helm",
    "kwok",
    "pulumi",
    "pulumi-language-python",
    "pulumi-resource-kubernetes",
]


def test_tools_on_path_that_are_new_enough_are_used(workshop: Workshop) -> None:
    workshop.put_go()
    pulumi = workshop.put_pulumi("v3.255.0")
    helm = workshop.put("helm", "v3.8.0+gd141386")
    kwok = workshop.put("kwok", "kwok version v0.8.0 go1.26.0 (linux/amd64)")
    tools = ensure()
    assert (tools.pulumi, tools.language_host_dir, tools.helm, tools.kwok) == (
        pulumi,
        pulumi.parent,
        helm,
        kwok,
    )
    assert workshop.builds() == ["controlplane", "pulumi-resource-kubernetes"]
    assert tools.notes == ()


def test_tools_on_path_that_are_too_old_are_built_instead(workshop: Workshop) -> None:
    workshop.put_go()
    pulumi = workshop.put_pulumi("v3.254.9")
    helm = workshop.put("helm", "v3.7.2")
    kwok = workshop.put("kwok", "kwok version v0.7.0")
    tools = ensure()
    assert workshop.builds() == EVERY_TOOL
    assert [note.split(":")[0] for note in tools.notes] == [
        f"{helm} is 3.7.2, older than 3.8.0",
        f"{kwok} is 0.7.0, older than 0.8.0",
        f"{pulumi} is 3.254.9, older than 3.255.0",
    ]
    assert tools.notes[2].endswith("Pulumi engine v3.274.1 built from its modules instead")


def test_a_tool_that_does_not_report_its_version_is_not_used(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    workshop.put("kwok", "kwok version v0.8.0")
    helm = workshop.put("helm", "broken")
    tools = ensure()
    assert tools.helm != helm
    assert tools.notes[0].startswith(f"{helm} does not report its version: Helm v4")


def test_a_pulumi_without_its_language_host_is_not_used(workshop: Workshop) -> None:
    workshop.put_go()
    pulumi = workshop.put_pulumi(language_host=False)
    tools = ensure()
    assert tools.pulumi != pulumi
    assert any(note.startswith(f"{pulumi} has no Python language host beside it") for note in tools.notes)


def test_a_linked_pulumi_is_used_where_its_language_host_is(workshop: Workshop, tmp_path: Path) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    installation = tmp_path / "opt"
    installation.mkdir()
    for program in workshop.bin.glob("pulumi*"):
        program.rename(installation / program.name)
    (workshop.bin / "pulumi").symlink_to(installation / "pulumi")
    assert ensure().language_host_dir == installation


def test_unreachable_host_is_not_tried_again_for_a_day(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.allow_downloads()
    tools = ensure()
    reasons = workshop.unreachable()
    assert set(reasons) == {"api.github.com", "dl.k8s.io", "get.helm.sh", "github.com"}
    assert {reason.rpartition(": ")[2] for reason in reasons.values()} == {"[Errno 111] Connection refused\n"}
    assert workshop.builds() == EVERY_TOOL
    assert f"the release of Helm {recipes.HELM.version} cannot be had: https://get.helm.sh/" in tools.notes[1]
    for file in (workshop.cache.root / "refused").iterdir():
        file.write_text("earlier\n")
    for built in list(workshop.cache.root.rglob("kwok-v*")):
        shutil.rmtree(built) if built.is_dir() else built.unlink()
    ensure()
    assert set(workshop.unreachable().values()) == {"earlier\n"}
    old = time.time() - reporting.VALID - 1
    os.utime(workshop.cache.root / "refused" / "api.github.com", (old, old))
    os.utime(workshop.cache.root / "refused" / "github.com", (old, old))
    for built in list(workshop.cache.root.rglob("kwok-v*")):
        shutil.rmtree(built) if built.is_dir() else built.unlink()
    ensure()
    assert workshop.unreachable()["api.github.com"] != "earlier\n"


def test_built_tools_are_not_downloaded(workshop: Workshop) -> None:
    workshop.put_go()
    ensure()
    workshop.allow_downloads()
    assert set(ensure().origins.values()) == {
        f"{recipe.version} built from its Go modules"
        for recipe in (
            recipes.CONTROL_PLANE,
            recipes.HELM,
            recipes.KWOK,
            recipes.KUBERNETES_PROVIDER,
            recipes.PULUMI,
        )
    }
    assert workshop.unreachable() == {}


def test_a_platform_without_a_release_builds_and_says_so(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.allow_downloads()
    workshop.monkeypatch.setattr(releases, "platform_here", lambda: "linux/riscv64")
    version = recipes.CONTROL_PLANE.version
    assert ensure().notes[0] == (
        f"Kubernetes control plane {version} built from its modules instead, because the release of "
        f"Kubernetes {toolset.own_minor()} {version} cannot be had: none is published for linux/riscv64, "
        "only for linux/amd64, linux/arm64"
    )


def test_without_go_and_network_the_refusal_names_both(workshop: Workshop) -> None:
    workshop.allow_downloads()
    with pytest.raises(ToolsError) as refusal:
        ensure()
    assert str(refusal.value).startswith("Go is not on PATH; install Go ")
    assert str(refusal.value).endswith("Connection refused")


def test_an_unavailable_release_ends_the_run_if_builds_are_disabled(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.monkeypatch.setenv(sources.VARIABLE, "download")
    workshop.monkeypatch.setattr(releases, "platform_here", lambda: "darwin/riscv64")
    with pytest.raises(ToolsError, match=r"published for darwin/riscv64, .*; DRA_FLEET_TOOLS=auto builds "):
        ensure()
    assert workshop.builds() == []


def test_a_word_that_allows_nothing_is_refused_with_those_that_do(workshop: Workshop) -> None:
    workshop.monkeypatch.setenv(sources.VARIABLE, "yes")
    with pytest.raises(ToolsError) as refusal:
        ensure()
    assert str(refusal.value) == (
        "DRA_FLEET_TOOLS is 'yes'; allowed: auto, build, download, or the address of a mirror (https://HOST/PATH)"
    )


def test_a_second_run_builds_nothing(workshop: Workshop) -> None:
    workshop.put_go()
    first = ensure()
    built = workshop.builds()
    output = Reported()
    second = ensure(output)
    assert replace(second, notes=first.notes) == first
    assert workshop.builds() == built
    assert output.titles == []


def test_the_language_host_lies_beside_the_exec_script_of_the_engine(workshop: Workshop) -> None:
    workshop.put_go()
    folder = ensure().language_host_dir
    assert sorted(path.name for path in folder.iterdir()) == [
        "pulumi-language-python",
        "pulumi-language-python-exec",
    ]
    assert os.access(folder / "pulumi-language-python-exec", os.X_OK)


def test_the_program_prints_where_each_tool_is(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    command = [*REHEARSE_TOOLS, "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    output = json.loads(printed.stdout)
    assert set(output) == {
        *("controlplane", "helm", "kubernetes_provider", "kwok"),
        *("language_host_dir", "notes", "origins", "pulumi"),
    }
    assert output["origins"]["pulumi"] == "found on PATH"
    assert output["pulumi"] == str(workshop.bin / "pulumi")
    assert printed.stderr.splitlines()[0] == f"Kubernetes control plane {recipes.CONTROL_PLANE.version} ..."


def test_the_program_ends_with_a_message_and_no_traceback(workshop: Workshop) -> None:
    del workshop
    ended = subprocess.run(REHEARSE_TOOLS, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: Go is not on PATH; install Go ")
    assert len(ended.stderr.splitlines()) == 1


def test_a_first_run_builds_no_scheduler_and_says_what_plays_the_older_minors(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    output = Reported()
    tools = ensure(output)
    assert tools.schedulers == {}
    assert not [title for title in output.titles if "scheduler" in title]
    assert tools.emulated(["1.37"]) == []
    assert "".join(tools.emulated(["1.37", "1.34"])) == (
        "the 1.37 scheduler emulates 1.34 (its gates, not its code); "
        "`dra-fleet rehearse up --own-schedulers` builds that minor's own, in minutes"
    )


def test_a_scheduler_that_is_asked_for_is_built_from_its_own_modules_and_taken_from_then_on(
    workshop: Workshop,
) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    output = Reported()
    built = ensure(output, schedulers_of=["1.34", toolset.own_minor()])
    version = recipes.pinned(recipes.ENGINE / "scheduler-1.34", recipes.KUBERNETES)
    assert [title for title in output.titles if "scheduler" in title] == [
        f"Kubernetes 1.34 scheduler {version}"
    ]
    assert {minor: path.name for minor, path in built.schedulers.items()} == {"1.34": "kube-scheduler"}
    assert built.emulated(["1.34", "1.37"]) == []
    assert ensure().schedulers == built.schedulers
