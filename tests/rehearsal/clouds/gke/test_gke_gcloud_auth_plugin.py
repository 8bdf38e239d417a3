import pytest

from dra_fleet.clouds.gke.simulation.gke_gcloud_auth_plugin import main, read_arguments
from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError


@pytest.mark.parametrize(
    "arguments", [[], ["--use_application_default_credentials"], ["--project", "p", "--location=l"]]
)
def test_the_published_flags_are_taken(arguments: list[str]) -> None:
    read_arguments(arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nope"], "unknown flag: --nope"),
        (["get-token"], "unknown flag: get-token"),
        (["--project"], "flag needs an argument: --project"),
    ],
)
def test_rejects_arguments_that_the_published_helper_rejects(arguments: list[str], message: str) -> None:
    with pytest.raises(HelperError) as refused:
        read_arguments(arguments)
    assert str(refused.value) == message


def test_without_a_simulator_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/no/socket"]) == 1
    assert "no simulator answers on /no/socket" in capsys.readouterr().err
