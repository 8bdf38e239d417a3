"""`gke-gcloud-auth-plugin`: replaces Google's credential helper in a rehearsal.

Takes the published helper's arguments and prints an ExecCredential with the token of the current login; as
in reality it is good for every GKE cluster. Standard library only; the installed script calls it with the
simulator's socket as first argument.
Published helper: https://github.com/kubernetes/cloud-provider-gcp, `cmd/gke-gcloud-auth-plugin`.
"""

from __future__ import annotations

from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError, answer, ask

NAME = "gke-gcloud-auth-plugin"
SWITCHES = frozenset({"use_application_default_credentials", "use_edge_cloud"})
WITH_VALUE = frozenset({"location", "cluster", "project", "impersonate_service_account"})


def read_arguments(arguments: list[str]) -> None:
    """Check the flags.

    Raises:
        HelperError: one is unknown, or has no value.
    """
    rest = iter(arguments)
    for word in rest:
        name, separator, _ = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in SWITCHES | WITH_VALUE:
            raise HelperError(f"unknown flag: {word}")
        if name in WITH_VALUE and not separator and next(rest, None) is None:
            raise HelperError(f"flag needs an argument: {word}")


def main(arguments: list[str]) -> int:
    """Print an ExecCredential for `[socket, …]`; the exit code is 1 where there is none."""

    def find_status() -> dict[str, str]:
        read_arguments(arguments[1:])
        return ask(arguments[0], "/v1/clouds/gke/tokens", {})

    return answer(NAME, find_status)
