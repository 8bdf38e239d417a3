"""`kubelogin get-token …`: replaces Azure's credential helper in a rehearsal.

Takes the published helper's arguments and prints an ExecCredential whose token the simulated tenant issued;
as in reality it is good for every AKS cluster. Standard library only; the installed script calls it with the
simulator's socket as first argument. Published helper: https://azure.github.io/kubelogin/
"""

from __future__ import annotations

from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError, answer, ask

LOGINS = ("devicecode", "interactive", "spn", "ropc", "msi", "azurecli", "azd", "workloadidentity")
FLAGS = frozenset(
    {
        "authority-host", "azure-config-dir", "client-id", "environment", "federated-token-file",
        "identity-resource-id", "login", "server-id", "tenant-id", "token-cache-dir", "timeout",
    }
)  # fmt: skip
SHORT = {"-l": "login", "-t": "tenant-id", "-e": "environment"}


def read_arguments(arguments: list[str]) -> dict[str, str]:
    """Parse the flags of `get-token`.

    Raises:
        HelperError: another command, an unknown flag, or a value that is missing or wrong.
    """
    if not arguments or arguments[0] != "get-token":
        raise HelperError("usage: kubelogin get-token --server-id ID --login METHOD")
    flags: dict[str, str] = {}
    rest = iter(arguments[1:])
    for word in rest:
        name, separator, value = word.removeprefix("--").partition("=")
        name = SHORT.get(word, name)
        if not word.startswith("-") or name not in FLAGS:
            raise HelperError(f"unknown flag: {word}")
        try:
            flags[name] = value if separator else next(rest)
        except StopIteration:
            raise HelperError(f"flag needs an argument: {word}") from None
    if "server-id" not in flags:
        raise HelperError("--server-id is required")
    login = flags.get("login", LOGINS[0])
    if login not in LOGINS:
        raise HelperError(
            f"'{login}' is not a supported login method. Supported method is one of {', '.join(LOGINS)}"
        )
    return flags


def main(arguments: list[str]) -> int:
    """Print an ExecCredential for `[socket, get-token, …]`; the exit code is 1 where there is none."""

    def find_status() -> dict[str, str]:
        flags = read_arguments(arguments[1:])
        return ask(arguments[0], "/v1/clouds/aks/tokens", {"serverId": flags["server-id"]})

    return answer("Error", find_status)
