from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from dra_fleet.rehearsal.environment import (
    WrongBackendError,
    credential_prefixes,
    environment,
    refuse_foreign_backend,
    shell_exports,
)
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.tools import Toolset

TOOLS = Toolset(
    pulumi=Path("/tools/pulumi/pulumi"),
    language_host_dir=Path("/tools/langhost"),
    helm=Path("/tools/helm/helm"),
    kwok=Path("/tools/kwok/kwok"),
    controlplane=Path("/tools/controlplane/controlplane"),
)
CREDENTIALS = (
    "AWS_SECRET_ACCESS_KEY",
    "ARM_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "GOOGLE_CREDENTIALS",
    "ALICLOUD_SECRET_KEY",
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG_PASSPHRASE",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "a home")


@pytest.fixture(autouse=True)
def real_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIALS:
        monkeypatch.setenv(name, "real")


def test_no_real_credential_reaches_the_engine(home: Home) -> None:
    seen = environment(home, TOOLS)
    own = {"PULUMI_CONFIG_PASSPHRASE_FILE"}
    assert [name for name in seen if name.startswith(credential_prefixes()) and name not in own] == []


def test_everything_that_is_written_or_read_is_the_homes_own(home: Home) -> None:
    seen = environment(home, TOOLS)
    assert seen["KUBECONFIG"] == str(home.kubeconfig)
    assert seen["PULUMI_HOME"] == str(home.pulumi_home)
    assert seen["PULUMI_BACKEND_URL"] == f"file://{home.backend}"
    assert seen["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(home.passphrase_file)


def test_the_tools_and_stand_in_helpers_come_first_on_the_path(home: Home) -> None:
    path = environment(home, TOOLS)["PATH"].split(os.pathsep)
    assert path[1:5] == [str(home.bin), "/tools/pulumi", "/tools/langhost", "/tools/helm"]


def test_everything_else_of_the_callers_environment_stays(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    assert environment(home, TOOLS)["HTTPS_PROXY"] == "http://proxy"


@pytest.mark.parametrize(("forbidden", "kept"), [("1", "bytecode"), ("", None)])
def test_a_program_is_compiled_once_even_where_it_must_not_be_beside_its_source(
    forbidden: str, kept: str | None, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", forbidden)
    monkeypatch.setenv("DRA_FLEET_CACHE", "/cache")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    seen = environment(home, TOOLS)
    assert seen.get("PYTHONPYCACHEPREFIX") == (f"/cache/{kept}" if kept else None)
    assert seen["PYTHONDONTWRITEBYTECODE"] == ""


def test_a_shell_that_evaluates_the_exports_has_them_and_no_credential(home: Home) -> None:
    script = f"{shell_exports(home, TOOLS)}\necho $KUBECONFIG; echo ${{AWS_SECRET_ACCESS_KEY-unset}}"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{home.kubeconfig}\nunset\n"
    assert shlex.quote(str(home.kubeconfig)) in script


def test_a_project_with_a_backend_of_its_own_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.yaml"
    file.write_text("name: x\nbackend: {url: s3://state}\n")
    with pytest.raises(WrongBackendError) as refused:
        refuse_foreign_backend(file)
    assert str(refused.value) == (
        "Pulumi.yaml names the backend {'url': 's3://state'}; a rehearsal writes only to its own. "
        "Remove `backend:` and choose a real backend with `pulumi login` or PULUMI_BACKEND_URL instead."
    )
