"""`meadow-login`: the made-up cloud's credential helper. Standard library only."""

from __future__ import annotations

from dra_fleet.rehearsal.credentials.dra_fleet_token import answer, ask

NAME = "meadow-login"


def main(arguments: list[str]) -> int:
    """Print an ExecCredential for `[socket]`."""
    return answer(NAME, lambda: ask(arguments[0], "/v1/clouds/meadow/tokens", {}))
