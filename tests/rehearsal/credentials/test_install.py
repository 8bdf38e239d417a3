import subprocess
from pathlib import Path

import pytest

from dra_fleet.rehearsal.credentials.install import install_helper_of
from dra_fleet.rehearsal.home import Home


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
