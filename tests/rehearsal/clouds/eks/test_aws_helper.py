"""The simulated `aws` takes the published `eks get-token`, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dra_fleet.clouds.eks.simulation import aws
from dra_fleet.clouds.eks.simulation.aws import main, read_arguments
from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError

if TYPE_CHECKING:
    from typing import Any

COMMAND = ["eks", "get-token"]
INFO = "KUBERNETES_EXEC_INFO"


@pytest.mark.parametrize(
    "arguments",
    [
        [*COMMAND, "--cluster-name", "train"],
        [*COMMAND, "--cluster-name=train", "--region", "us-east-1", "--output", "json"],
        ["--region", "us-east-1", "--no-cli-pager", *COMMAND, "--cluster-name", "train"],
        [*COMMAND, "--cluster-id", "0b1e", "--role-arn", "arn:aws:iam::123456789012:role/x"],
    ],
)
def test_the_published_arguments_are_taken(arguments: list[str]) -> None:
    assert set(read_arguments(arguments).values()) & {"train", "0b1e"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*COMMAND, "--cluster", "train"], "Unknown options: --cluster"),
        ([*COMMAND, "--cluster-name"], "argument --cluster-name: expected one argument"),
        (COMMAND, "Either parameter --cluster-name or --cluster-id must be specified."),
        (
            [*COMMAND, "--cluster-name", "a", "--cluster-id", "b"],
            "Either parameter --cluster-name or --cluster-id must be specified.",
        ),
        (
            ["s3", "ls"],
            (
                "(rehearsal) only `aws eks get-token` is simulated, not `aws s3 ls`; a rehearsal never "
                "reaches a real account"
            ),
        ),
    ],
)
def test_anything_else_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(HelperError) as refused:
        read_arguments(arguments)
    assert str(refused.value) == message


def test_without_a_simulator_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/no/socket", *COMMAND, "--cluster-name", "train"]) == 255
    output = capsys.readouterr()
    assert output.out == ""
    assert "no simulator answers on /no/socket" in output.err


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        (None, "client.authentication.k8s.io/v1beta1"),
        ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1"),
    ],
)
def test_the_credential_is_in_the_version_that_was_asked_for(
    asked: str | None,
    version: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls: list[tuple[str, str, dict[str, Any]]] = []

    def answer(socket: str, path: str, body: dict[str, Any]) -> dict[str, str]:
        calls.append((socket, path, body))
        return {"token": "k8s-aws-v1.abc"}

    monkeypatch.setattr(aws, "ask", answer)
    monkeypatch.delenv(INFO, raising=False)
    if asked is not None:
        info = {"apiVersion": asked, "kind": "ExecCredential", "spec": {"interactive": False}}
        monkeypatch.setenv(INFO, json.dumps(info))
    assert main(["/socket", *COMMAND, "--cluster-name", "train", "--region", "us-east-1"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {},
        "status": {"token": "k8s-aws-v1.abc"},
    }
    assert calls == [("/socket", "/v1/clouds/eks/tokens", {"clusterName": "train", "region": "us-east-1"})]
