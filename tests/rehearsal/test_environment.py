import os
import shlex
import subprocess
from pathlib import Path

import pytest

from dra_fleet.core.places import REHEARSED, rehearsed_copy
from dra_fleet.rehearsal.environment import (
    WrongBackendError,
    environment,
    refuse_foreign_backend,
    shell_environment,
    shell_exports,
)
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.passed_on import PASSED_ON, PassedOn
from dra_fleet.rehearsal.tools import Toolset
from dra_fleet.rehearsal.tools.ensuring import ToolRequirement, version_of
from dra_fleet.rehearsal.tools.go import build_environment

PROJECT = Path(__file__).resolve().parents[2]

TOOLS = Toolset(
    pulumi=Path("/tools/pulumi/pulumi"),
    language_host_dir=Path("/tools/langhost"),
    helm=Path("/tools/helm/helm"),
    kwok=Path("/tools/kwok/kwok"),
    kubernetes_provider=Path("/tools/provider/pulumi-resource-kubernetes"),
    kubernetes_provider_version="published",
    controlplane=Path("/tools/controlplane/controlplane"),
)
CREDENTIALS = (
    "AWS_SECRET_ACCESS_KEY",
    "ARM_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "GOOGLE_CREDENTIALS",
    "ALICLOUD_SECRET_KEY",
    "ALIYUN_SECRET",
    "GITHUB_TOKEN",
    "VAULT_TOKEN",
    "NGC_API_KEY",
    "KUBE_TOKEN",
    "HELM_KUBETOKEN",
    "TF_TOKEN_app_terraform_io",
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG",
    "PULUMI_CONFIG_PASSPHRASE",
    "AN_UNEXPECTED_NAME",
)
CANARY = "canary-2f61"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "a home")


@pytest.fixture(autouse=True)
def real_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIALS:
        monkeypatch.setenv(name, CANARY)


def test_no_variable_that_a_run_does_not_need_reaches_the_engine(home: Home) -> None:
    assert CANARY not in environment(home, TOOLS).values()


def test_no_such_variable_reaches_builds_or_what_is_asked_on_the_path() -> None:
    assert CANARY not in build_environment().values()
    shell = ToolRequirement(
        name="sh", version_arguments=("-c", f"env | grep -q {CANARY} || echo 1.2.3"), at_least=(0, 0, 0)
    )
    assert version_of(Path("/bin/sh"), shell) == (1, 2, 3)


def test_the_page_names_every_variable_that_is_passed_on_and_why() -> None:
    page = (PROJECT / "docs/rehearsal.md").read_text(encoding="utf-8")
    section = page.split("## Environment of a run")[1].split("## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert [PassedOn(names.replace("`", ""), why) for names, why in rows] == list(PASSED_ON)


def test_everything_that_is_written_or_read_is_the_homes_own(home: Home) -> None:
    seen = environment(home, TOOLS)
    assert seen["KUBECONFIG"] == str(home.kubeconfig)
    assert seen["PULUMI_HOME"] == str(home.pulumi_home)
    assert seen["PULUMI_BACKEND_URL"] == f"file://{home.backend}?metadata=skip"
    assert seen["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(home.passphrase_file)


def test_the_tools_and_simulated_helpers_are_first_on_the_path(home: Home) -> None:
    path = environment(home, TOOLS)["PATH"].split(os.pathsep)
    assert path[1:5] == [str(home.bin), "/tools/pulumi", "/tools/langhost", "/tools/helm"]


@pytest.mark.parametrize(
    "name", ["HTTPS_PROXY", "no_proxy", "LC_TIME", "HOME", "SSL_CERT_FILE", "PULUMI_K8S_ENABLE_PATCH_FORCE"]
)
def test_needed_variables_of_the_caller_stay(name: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "the caller's")
    assert environment(home, TOOLS)[name] == "the caller's"


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


def test_a_shell_that_evaluates_the_exports_has_them_and_no_credential(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASH_FUNC_greet%%", "() { echo hello; }")
    exports = shell_exports(shell_environment(home, TOOLS, None), PROJECT)
    script = f"{exports}\necho $KUBECONFIG; env | grep {CANARY} || echo none"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{home.kubeconfig}\nnone\n"
    assert shlex.quote(str(home.kubeconfig)) in script


def test_a_shell_has_the_stack_selected_and_its_project_wherever_it_is(home: Home, tmp_path: Path) -> None:
    plain = shell_environment(home, TOOLS, None)
    own = shell_environment(home, TOOLS, ("dev", PROJECT))
    copied = shell_environment(home, TOOLS, ("lab", tmp_path))
    assert own == {**plain, "PULUMI_STACK": "dev"}
    assert copied == {**plain, "PULUMI_STACK": "lab", "PULUMI_OPTION_CWD": str(tmp_path)}


def test_pulumi_in_the_folder_of_another_project_runs_that_project(home: Home, tmp_path: Path) -> None:
    programs, own, other = (tmp_path / name for name in ("bin", "own", "other"))
    for folder in (programs, own / "deep", other):
        folder.mkdir(parents=True)
    pulumi = programs / "pulumi"
    pulumi.write_text("#!/bin/sh\necho ${PULUMI_STACK:-none} ${PULUMI_OPTION_CWD:-here}\n")
    pulumi.chmod(0o755)
    variables = shell_environment(home, TOOLS, ("lab", tmp_path / "copy"))
    exports = shell_exports({**variables, "PATH": f"{programs}:/usr/bin:/bin"}, own)
    script = f"{exports}\ncd {own}; pulumi; cd deep; pulumi; cd {other}; pulumi"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    copy = tmp_path / "copy"
    assert shown.stdout.splitlines() == [f"lab {copy}", f"lab {copy}", "none here"]


def test_later_exports_without_a_copy_forget_the_earlier_copy(home: Home, tmp_path: Path) -> None:
    own, copy = tmp_path / "own", tmp_path / "copy"
    with_copy = shell_exports(shell_environment(home, TOOLS, ("lab", copy)), own)
    without = shell_exports(shell_environment(home, TOOLS, ("dev", PROJECT)), PROJECT)
    script = f"{with_copy}\necho ${REHEARSED}\n{without}\necho ${{{REHEARSED}:-none}}"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == [f"{own}:{copy}", "none"]


@pytest.mark.parametrize(("folder", "selected"), [("own", True), ("own/deep", True), ("other", False)])
def test_rehearsed_copy_is_selected_below_its_project(
    folder: str, selected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv(REHEARSED, f"{tmp_path / 'own'}:{tmp_path / 'copy'}")
    monkeypatch.chdir(tmp_path / folder)
    assert rehearsed_copy() == (tmp_path / "copy" if selected else None)


def test_a_project_with_a_backend_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.yaml"
    file.write_text("name: x\nruntime: python\nbackend: {url: s3://state}\n")
    with pytest.raises(WrongBackendError) as refused:
        refuse_foreign_backend(file)
    assert str(refused.value) == (
        "Pulumi.yaml names the backend {'url': 's3://state'}; a rehearsal writes only to its own. "
        "Remove `backend:` and choose a real backend with `pulumi login` or PULUMI_BACKEND_URL instead."
    )
