import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from dra_fleet.rehearsal.tools import ToolsError, Toolset, ensure, recipes
from tests.rehearsal.tools.tool_workshop import REHEARSE_TOOLS, Reported, Workshop


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


def test_without_go_one_sentence_says_what_to_install(workshop: Workshop) -> None:
    workshop.put_pulumi()
    with pytest.raises(ToolsError) as refused:
        ensure()
    assert str(refused.value) == (
        f"Go is not on PATH; install Go {recipes.needed_go()} or newer from https://go.dev/dl; "
        "a rehearsal builds its Kubernetes control plane with it, "
        "and the Pulumi engine where there is no Pulumi CLI 3.255.0 or newer"
    )


def test_a_go_that_is_too_old_is_named_with_what_is_needed(workshop: Workshop) -> None:
    workshop.put_go("go version go1.25.7 linux/amd64")
    with pytest.raises(ToolsError) as refused:
        ensure()
    assert str(refused.value).startswith(
        f"{workshop.bin}/go is Go 1.25.7, which is too old: install Go {recipes.needed_go()} or newer"
    )


def test_a_failed_build_shows_its_last_lines_and_keeps_all_of_them(workshop: Workshop) -> None:
    workshop.put_go()
    (workshop.bin / "failure").write_text("\n".join(f"line {n}" for n in range(40)), encoding="utf-8")
    with pytest.raises(ToolsError) as refused:
        ensure()
    lines = str(refused.value).splitlines()
    assert lines[0] == (
        f"Kubernetes control plane {recipes.CONTROL_PLANE.version} could not be built: "
        "go build ended with exit code 1. Its last lines:"
    )
    assert lines[-2] == "  line 39"
    assert "line 0" not in str(refused.value)
    assert "line 0" in Path(lines[-1].removeprefix("All of it: ")).read_text(encoding="utf-8")
    assert workshop.leftovers() == []


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("write /tmp/x: no space left on device", "no space left on the disk; "),
        ("dial tcp: lookup modules.example: no such host", "The Go modules could not be fetched: "),
    ],
)
def test_a_failed_build_says_what_to_do(workshop: Workshop, output: str, advice: str) -> None:
    workshop.put_go()
    (workshop.bin / "failure").write_text(output, encoding="utf-8")
    with pytest.raises(ToolsError) as refused:
        ensure()
    assert str(refused.value).splitlines()[-1].startswith(advice)


def test_a_cache_that_is_a_file_is_named(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.cache.root.write_text("", encoding="utf-8")
    with pytest.raises(ToolsError) as refused:
        ensure()
    assert str(refused.value).startswith(f"the tool cache {workshop.cache.root} cannot be used: ")
    assert str(refused.value).endswith(
        "make it yours to write, or set DRA_FLEET_CACHE to a directory of yours"
    )


def test_the_second_of_two_builds_waits_and_says_so(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    workshop.put("helm", "v4.0.0")
    workshop.put("kwok", "v0.8.0")
    hold = workshop.bin / "hold"
    hold.touch()
    found: list[Toolset] = []
    text = Reported()
    first = threading.Thread(target=lambda: found.append(ensure()))
    second = threading.Thread(target=lambda: found.append(ensure(text)))
    first.start()
    wait_for(workshop.bin / "building")
    second.start()
    assert text.on_detail.wait(30)
    hold.unlink()
    first.join()
    second.join()
    assert set(text.details) == {"another process builds it; waiting for that"}
    assert found[0] == found[1]
    assert workshop.builds() == ["controlplane", "pulumi-resource-kubernetes"]


@pytest.mark.slow
def test_a_killed_build_leaves_no_tool_and_the_next_one_builds_it(workshop: Workshop) -> None:
    workshop.put_go()
    hold = workshop.bin / "hold"
    hold.touch()
    killed = subprocess.Popen(REHEARSE_TOOLS, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_for(workshop.bin / "building")
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    left = workshop.leftovers()
    assert len(left) == 1
    hold.unlink()
    workshop.put_pulumi()
    tools = ensure()
    assert tools.controlplane
    assert tools.controlplane.read_text(encoding="utf-8") == "built"
    assert workshop.leftovers() == []
