import pytest

from dra_fleet.clouds.aks.simulation.kubelogin import LOGINS, main, read_arguments
from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError

SERVER = ["--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630"]


def test_flags_are_read_in_every_form() -> None:
    flags = read_arguments(["get-token", *SERVER, "--tenant-id=t", "-l", "azurecli"])
    assert flags == {"server-id": SERVER[1], "tenant-id": "t", "login": "azurecli"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: kubelogin get-token --server-id ID --login METHOD"),
        (["get-token"], "--server-id is required"),
        (["get-token", *SERVER, "--nope", "x"], "unknown flag: --nope"),
        (["get-token", "--server-id"], "flag needs an argument: --server-id"),
        (
            ["get-token", *SERVER, "--login", "magic"],
            f"'magic' is not a supported login method. Supported method is one of {', '.join(LOGINS)}",
        ),
    ],
)
def test_rejects_arguments_that_the_published_helper_rejects(arguments: list[str], message: str) -> None:
    with pytest.raises(HelperError) as refused:
        read_arguments(arguments)
    assert str(refused.value) == message


def test_without_a_simulator_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/no/socket", "get-token", *SERVER]) == 1
    assert "no simulator answers on /no/socket" in capsys.readouterr().err
