import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clusters.accounts import ask_account
from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from tests.clouds.ack.ack_fleets import a10
from tests.clouds.aks.aks_fleets import vgpu
from tests.clouds.eks.eks_fleets import RESERVATION, h100, pool
from tests.clouds.gke.gke_fleets import l4

FLEETS = {"az": vgpu, "aws": h100, "gcloud": l4, "aliyun": a10}
TITLES = {"az": "AKS", "aws": "EKS", "gcloud": "GKE", "aliyun": "ACK"}
EACH = pytest.mark.parametrize("tool", FLEETS)


def asked(fleet: dict[str, Any], seconds: float = 20) -> list[PreflightFinding]:
    return asyncio.run(ask_account(make_plan(parse(fleet)).clusters[0], seconds=seconds))


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def script(folder: Path, tool: str, text: str) -> None:
    (folder / tool).write_text(f"#!/bin/sh\n{text}\n")
    (folder / tool).chmod(0o755)


@EACH
def test_without_the_command_line_nothing_is_asked_and_that_is_said(
    tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(sys.prefix))
    (found,) = asked(FLEETS[tool]())
    assert found.message == (
        f"quota, machines and permissions of {TITLES[tool]} were not checked: {tool} is not on PATH"
    )
    assert (found.level, found.fix) == ("unchecked", f"install {tool} and log in")


@EACH
def test_a_cloud_that_does_not_answer_in_time_is_one_sentence(tool: str, commands: Path) -> None:
    script(commands, tool, "sleep 5")
    (found,) = asked(FLEETS[tool](), seconds=0.2)
    assert found.message.startswith(f"{TITLES[tool]}: could not check ")
    assert found.message.endswith(": no answer within 0.2 seconds")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("az", "Please run 'az login' to setup account."),
        ("aws", "Unable to locate credentials. You can configure credentials by running aws configure."),
        ("aws", "Error when retrieving token from sso: Token has expired and refresh failed"),
        ("aws", "An error occurred (AuthFailure): AWS was not able to validate the provided credentials"),
        ("aws", "An error occurred (UnrecognizedClientException): The security token is invalid."),
        ("aws", "An error occurred (RequestExpired) when calling DescribeCapacityReservations"),
        ("az", "AADSTS700082: The refresh token has expired due to inactivity."),
        ("gcloud", "Reauthentication failed. cannot prompt during non-interactive execution."),
        ("gcloud", "ERROR: ('invalid_grant: Bad Request', {'error': 'invalid_grant'})"),
        ("aliyun", "ErrorCode: InvalidSecurityToken.Expired Message: Specified SecurityToken is expired."),
        ("gcloud", "You do not currently have an active account selected. Please run: gcloud auth login"),
        ("aliyun", "ERROR: AccessKeyId is empty! run `aliyun configure` first"),
    ],
)
def test_no_one_logged_in_is_one_sentence(tool: str, said: str, commands: Path) -> None:
    script(commands, tool, f'echo "{said.replace("`", "")}" >&2; exit 1')
    (found,) = asked(FLEETS[tool]())
    assert found.message.endswith(": you are not logged in, or the login has expired")
    assert (found.level, found.fix) == ("unchecked", f"log in with {tool}")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("az", "ERROR: (AuthorizationFailed) The client does not have authorization"),
        ("aws", "An error occurred (AccessDenied) when calling the GetCallerIdentity operation"),
        ("gcloud", "ERROR: (gcloud.projects.describe) [ann] does not have permission to access projects"),
        ("aliyun", "ErrorCode: NoPermission Message: You are not authorized to do this action."),
    ],
)
def test_a_login_that_may_not_ask_is_one_sentence(tool: str, said: str, commands: Path) -> None:
    script(commands, tool, f'echo "{said}" >&2; exit 1')
    (found,) = asked(FLEETS[tool]())
    assert found.message.endswith(f": this login lacks the permission ({said})")
    assert found.fix == "request a role that can read it"


@pytest.mark.parametrize(
    ("text", "why", "fix"),
    [
        ("echo 503 >&2; exit 1", "503", "run it yourself: aws sts get-caller-identity --region us-east-1"),
        ("exit 1", "it failed without a message", "run it yourself: aws sts get-caller-identity"),
        ("echo '[]'", "the answer: must be a mapping", "update aws"),
        ("printf ''", "its answer is not JSON (nothing)", "run it yourself: aws sts get-caller-identity"),
        ("echo '<html> 503'", "its answer is not JSON (<html> 503)", "run it yourself: aws sts get-caller"),
        (
            r"printf '\033[31m\377'; head -c 900000 /dev/zero | tr '\0' x",
            f"its answer is not JSON ([31m\N{REPLACEMENT CHARACTER}{'x' * 294})",
            "run it yourself: aws sts get-caller-identity",
        ),
        ("echo '{}'", "Account: is required", "update aws"),
        (
            "echo 'Quotas API is not used or it is disabled. Enable it by visiting' >&2; exit 1",
            "its API is not enabled (Quotas API is not used or it is disabled. Enable it by visiting)",
            "enable the API and wait a few minutes",
        ),
    ],
)
def test_any_other_answer_is_reported_as_it_is(text: str, why: str, fix: str, commands: Path) -> None:
    script(commands, "aws", text)
    (found,) = asked(h100())
    assert found.message == f"EKS: could not check whose login this is: {why}"
    assert found.fix.startswith(fix)


def test_a_command_line_whose_interpreter_is_gone_is_one_sentence(commands: Path) -> None:
    (commands / "az").write_text("#!/no/such/python\n")
    (commands / "az").chmod(0o755)
    (found,) = asked(vgpu())
    assert found.message.endswith(": az cannot be started: No such file or directory")
    assert (found.level, found.fix) == ("unchecked", "install az again")


def test_a_cancelled_wait_leaves_nothing_behind(commands: Path) -> None:
    script(commands, "az", f"echo $$ > {commands}/pid; : > {commands}/started; sleep 60")

    async def ask_and_stop() -> int:
        asking = asyncio.create_task(ask_account(make_plan(parse(vgpu())).clusters[0]))
        while not list(commands.glob("started")):  # noqa: ASYNC110, ASYNC240 - a process reports it
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return int((commands / "pid").read_text())

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(ask_and_stop()), 0)


def test_reports_missing_objects(commands: Path) -> None:
    fleet = h100()
    pool(fleet).update(reservation=RESERVATION, zones=["us-east-1a"])
    login = '{"Account": "000000000000", "Arn": "arn:aws:iam::000000000000:root"}'
    said = "An error occurred (InvalidCapacityReservationId.NotFound)"
    script(commands, "aws", f"""case "$1" in sts) echo '{login}';; *) echo "{said}" >&2; exit 1;; esac""")
    (found,) = [finding for finding in asked(fleet) if finding.subject == "reservation"]
    assert (found.level, found.fix) == ("problem", "create it, or name another in the stack file")
    assert found.message == (
        f"EKS: could not check the reservation {RESERVATION} of pool gpu: it does not exist ({said})"
    )


def test_a_question_that_is_not_answered_keeps_no_other_from_being_asked(commands: Path) -> None:
    login = '{"Account": "000000000000", "Arn": "arn:aws:iam::000000000000:user/ann"}'
    script(
        commands,
        "aws",
        f"""case "$1" in sts) echo '{login}';; *) echo "AccessDenied $1" >&2; exit 1;; esac""",
    )
    found = asked(h100())
    assert [finding.subject for finding in found] == ["quota", "machines", "permissions", "versions"]
    assert {finding.level for finding in found} == {"unchecked"}


CONFIG: dict[str, Any] = {
    "current-context": "lab",
    "clusters": [{"name": "lab", "cluster": {"server": "https://lab", "certificate-authority": "ca.pem"}}],
    "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
    "users": [{"name": "me", "user": {"token": "t"}}],
}
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n"
    for before, name in zip("abcde", "bcdef", strict=True)
)


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(json.dumps(CONFIG), encoding="utf-8")
    chosen = read_kubeconfig(str(file))
    assert chosen.cluster.server == "https://lab"
    assert chosen.abs_file("ca.pem") == tmp_path / "ca.pem"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError) as refused:
        read_kubeconfig(str(tmp_path / "config"))
    assert str(refused.value) == f"kubeconfig {tmp_path}/config cannot be used: no such file"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "holds more than 100000 values once its anchors are followed"),
        ("\n", "it is not a mapping of clusters, users and contexts"),
        ("clusters: []\n", "'contexts'"),
    ],
)
def test_rejects_values_that_are_no_kubeconfig(text: str, why: str) -> None:
    with pytest.raises(KubeconfigError) as refused:
        read_kubeconfig(text)
    assert str(refused.value) == f"kubeconfig (given as text) cannot be used: {why}"
