import json
from typing import Any

import pytest

from dra_fleet.clouds.ack.simulation import ack_ram_tool
from dra_fleet.clouds.ack.simulation.ack_ram_tool import main, read_arguments
from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError

COMMAND = ["credential-plugin", "get-token"]


@pytest.mark.parametrize(
    "arguments",
    [
        [*COMMAND, "--cluster-id", "c1"],
        [*COMMAND, "-c", "c1", "--region-id", "cn-beijing", "--api-version", "v1", "--log-level", "error"],
        ["-y", "--profile-name=dev", *COMMAND, "--cluster-id=c1", "--ignore-env-credentials"],
    ],
)
def test_the_published_arguments_are_taken(arguments: list[str]) -> None:
    assert read_arguments(arguments)["cluster-id"] == "c1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*COMMAND, "--cluster", "c1"], "unknown flag: --cluster"),
        ([*COMMAND, "--cluster-id"], "flag needs an argument: --cluster-id"),
        (COMMAND, 'required flag(s) "cluster-id" not set'),
        ([*COMMAND, "-c", "c1", "--api-version", "v2"], "unknown api-version: v2; it is v1 or v1beta1"),
        (
            ["rrsa", "status"],
            (
                "(rehearsal) only `ack-ram-tool credential-plugin get-token` is simulated, not "
                "`ack-ram-tool rrsa status`; a rehearsal never reaches a real account"
            ),
        ),
    ],
)
def test_anything_else_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(HelperError) as refused:
        read_arguments(arguments)
    assert str(refused.value) == message


def test_without_a_simulator_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/no/socket", *COMMAND, "--cluster-id", "c1"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "no simulator answers on /no/socket" in output.err


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_credential_is_in_the_version_that_the_flag_asks_for(
    version: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, str, dict[str, Any]]] = []

    def answer(socket: str, path: str, body: dict[str, Any]) -> dict[str, str]:
        calls.append((socket, path, body))
        return {"token": "k8s-ack-v2.abc"}

    monkeypatch.setattr(ack_ram_tool, "ask", answer)
    assert main(["/socket", *COMMAND, "--cluster-id", "c1", "--api-version", version]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "kind": "ExecCredential",
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "spec": {},
        "status": {"token": "k8s-ack-v2.abc"},
    }
    assert calls == [("/socket", "/v1/clouds/ack/tokens", {"clusterId": "c1"})]
