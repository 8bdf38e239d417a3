"""`dra-fleet doctor` against a running cluster: what is in order, what is not, and what cannot be reached."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from tests.engine.rehearsed import COMMAND, PROJECT, Finished

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine_support import RehearsalWorld, SimulatedCluster

pytestmark = pytest.mark.engine

HARDWARE: dict[str, Any] = {
    "kubernetes": "v1.36.3",
    "nodes": [{"name": "cpu", "machine": "cpu-16", "labels": {"example.com/pool": "cpu"}}],
}
UNREACHABLE = "https://127.0.0.1:1"


@pytest.fixture(scope="module")
def cluster(rehearsal_simulator: RehearsalWorld) -> SimulatedCluster:
    return rehearsal_simulator.new_cluster(HARDWARE)


def stack_file(
    directory: Path, cluster: SimulatedCluster, *, minor: str = "1.36", context: str | None = None
) -> str:
    pool = {
        "machine": "cpu-16",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "cpu"},
    }
    seen = {
        "cloud": "existing",
        "kubeconfig": {"context": context or cluster.name},
        "drivers": {"example": {"version": "0.4.0"}},
        "pools": {"cpu": pool},
    }
    fleet = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": minor,
        "clusters": {"seen": seen},
    }
    _dump({"config": {"dra-fleet:fleet": fleet}}, directory / "seen.yaml")
    return str(directory / "seen.yaml")


def _dump(value: dict[str, Any], file: Path) -> None:
    YAML(typ="safe", pure=True).dump(value, file)  # pyright: ignore[reportUnknownMemberType]


def doctor(cluster: SimulatedCluster, *arguments: str, **environment: str) -> Finished:
    """Run it with what `rehearse env` sets: the kubeconfig and the credential helper's place."""
    done = subprocess.run(
        [str(COMMAND), "doctor", *arguments],
        cwd=PROJECT,
        env={
            **os.environ,
            "KUBECONFIG": str(cluster.kubeconfig),
            "PATH": f"{cluster.home.bin}:{os.defpath}",
            "NO_COLOR": "1",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return Finished(code=done.returncode, out=done.stdout, err=done.stderr)


def problems(finished: Finished) -> list[str]:
    return [item["message"] for item in finished.json["seen"] if item["level"] == "problem"]


def test_a_cluster_in_order_exits_0_and_says_what_was_seen(cluster: SimulatedCluster, tmp_path: Path) -> None:
    seen = doctor(cluster, stack_file(tmp_path, cluster), "--json")

    assert seen.code == 0, seen.out + seen.err
    found = {item["subject"]: (item["level"], item["message"]) for item in seen.json["seen"]}
    assert found["version"] == ("ok", "v1.36.3")
    assert found["resource.k8s.io"][0] == "ok"
    assert "resource.k8s.io/v1" in found["resource.k8s.io"][1].split(", ")
    assert found["pool cpu"] == ("ok", "1 node carries example.com/pool=cpu")


def test_without_a_terminal_the_table_is_plain_text(cluster: SimulatedCluster, tmp_path: Path) -> None:
    seen = doctor(cluster, stack_file(tmp_path, cluster))

    assert seen.code == 0, seen.out + seen.err
    assert seen.out.isascii()
    assert "cluster seen" in seen.out


def test_another_minor_than_the_stack_says_exits_1_and_says_what_to_write(
    cluster: SimulatedCluster, tmp_path: Path
) -> None:
    file = stack_file(tmp_path, cluster, minor="1.35")

    as_json, as_table = doctor(cluster, file, "--json"), doctor(cluster, file)

    assert (as_json.code, as_table.code) == (1, 1)
    assert as_json.json["seen"][0] == {
        "level": "problem",
        "subject": "version",
        "message": "the server runs v1.36.3, the stack says kubernetes: '1.35'",
        "fix": 'write kubernetes: "1.36": fields are checked for that minor',
    }
    assert "problem  version" in as_table.out
    assert "the server runs v1.36.3" in as_table.out


def test_an_api_server_that_does_not_answer_is_a_finding(cluster: SimulatedCluster, tmp_path: Path) -> None:
    text = cluster.admin_kubeconfig.read_text().replace(cluster.server, UNREACHABLE)
    (tmp_path / "kubeconfig").write_text(text)

    file = stack_file(tmp_path, cluster, context="rehearsal")
    seen = doctor(cluster, file, "--json", KUBECONFIG=str(tmp_path / "kubeconfig"))

    assert seen.code == 1
    (problem,) = problems(seen)
    assert problem.startswith("the API server does not answer: ")


def test_a_user_without_rights_is_reported_in_the_servers_words(
    cluster: SimulatedCluster, tmp_path: Path
) -> None:
    config: dict[str, Any] = YAML(typ="safe").load(cluster.kubeconfig.read_text())  # pyright: ignore[reportUnknownMemberType]
    for user in config["users"]:
        user["user"] = {"token": "invalid"}
    (tmp_path / "kubeconfig").write_text(json.dumps(config))

    seen = doctor(cluster, stack_file(tmp_path, cluster), "--json", KUBECONFIG=str(tmp_path / "kubeconfig"))

    assert seen.code == 1
    assert problems(seen) == ["the API server rejects the request: Unauthorized"]


def test_a_missing_credential_plugin_is_named(cluster: SimulatedCluster, tmp_path: Path) -> None:
    seen = doctor(cluster, stack_file(tmp_path, cluster), "--json", PATH=os.defpath)

    assert seen.code == 1
    (problem,) = problems(seen)
    assert problem == (
        "credential plugin 'dra-fleet-token' cannot be started: No such file or directory; "
        "install it or put it on PATH"
    )


def test_an_unknown_context_is_reported_with_the_known_ones(
    cluster: SimulatedCluster, tmp_path: Path
) -> None:
    seen = doctor(cluster, stack_file(tmp_path, cluster, context="nosuch"), "--json")

    assert seen.code == 1
    (problem,) = problems(seen)
    assert problem.startswith(
        f"kubeconfig {cluster.kubeconfig} cannot be used: context 'nosuch' not found; it has: "
    )
    assert cluster.name in problem
