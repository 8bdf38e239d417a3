import json
import subprocess
from pathlib import Path

import pytest

from dra_fleet.rehearsal.credentials import dra_fleet_token
from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError, asked_version, main
from dra_fleet.rehearsal.credentials.install import install_helper_of
from dra_fleet.rehearsal.home import Home

STATUS = {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00Z"}


def answer_with_status(path: str, cluster: str) -> dict[str, str]:
    assert (path, cluster) == ("socket", "lab")
    return STATUS


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_it_answers_in_the_version_that_is_asked_for(
    version: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = f"client.authentication.k8s.io/{version}"
    monkeypatch.setenv("KUBERNETES_EXEC_INFO", json.dumps({"apiVersion": asked}))
    monkeypatch.setattr(dra_fleet_token, "fetch", answer_with_status)
    assert main(["socket", "lab"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"apiVersion": asked, "kind": "ExecCredential", "status": STATUS}


def test_it_answers_in_v1_where_no_one_asks() -> None:
    assert asked_version(None) == "client.authentication.k8s.io/v1"


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ("{", "KUBERNETES_EXEC_INFO is not an ExecCredential in JSON"),
        ('{"apiVersion": "v9"}', "apiVersion v9 is not known; known are client.authentication.k8s.io/v1, "),
    ],
)
def test_a_version_it_does_not_know_is_refused(info: str, message: str) -> None:
    with pytest.raises(HelperError, match=message):
        asked_version(info)


def test_without_a_simulator_it_says_how_to_start_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBERNETES_EXEC_INFO", raising=False)
    assert main([str(tmp_path / "none.sock"), "lab"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "start it with `dra-fleet rehearse up`" in error


def test_without_a_cluster_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["socket"]) == 1
    assert capsys.readouterr().err == "usage: dra-fleet-token CLUSTER\n"


@pytest.mark.parametrize(
    ("cloud", "command"),
    [
        ("ack", ["ack-ram-tool", "credential-plugin", "get-token", "--cluster-id", "c1"]),
        ("aks", ["kubelogin", "get-token", "--server-id", "x"]),
        ("eks", ["aws", "eks", "get-token", "--cluster-name", "train"]),
        ("gke", ["gke-gcloud-auth-plugin"]),
    ],
)
def test_a_helper_runs_without_the_environment_s_packages_and_asks_the_home_s_simulator(
    cloud: str, command: list[str], tmp_path: Path
) -> None:
    home = Home.at(tmp_path / "a home")
    home.create()
    install_helper_of(home, cloud)
    program = home.bin / command[0]
    said = subprocess.run(
        [program, *command[1:]], cwd="/", env={}, capture_output=True, text=True, check=False
    )
    assert said.returncode != 0
    assert f"no simulator answers on {home.socket}" in said.stderr
