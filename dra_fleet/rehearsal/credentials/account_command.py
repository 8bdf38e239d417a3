"""Simulates a cloud's own command line, as far as `dra-fleet doctor` asks an account by it.

Prints what the simulated account answers. Standard library only; the installed script calls it with the
simulator's socket and the cloud's name before the command's own words.
"""

from __future__ import annotations

import json
import sys

from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError, post


def main(arguments: list[str]) -> int:
    """Print an answer for `[socket, cloud, word, …]`; the exit code is 1 where there is none."""
    socket, cloud, *words = arguments
    try:
        answer = post(socket, f"/v1/clouds/{cloud}/command", {"words": words})
    except HelperError as error:
        sys.stderr.write(f"ERROR: {error}\n")
        return 1
    json.dump(answer["printed"], sys.stdout)
    return 0
