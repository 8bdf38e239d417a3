"""`az …`: stands in for the Azure command line in a rehearsal, as far as `dra-fleet doctor` asks it.

Prints what the simulated subscription answers. Standard library only; the installed script calls it with the
world's socket as first argument. Published command: https://learn.microsoft.com/cli/azure/
"""

from __future__ import annotations

import json
import sys

from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError, post


def main(arguments: list[str]) -> int:
    """Print an answer for `[socket, word, …]`; the exit code is 1 where there is none."""
    try:
        told = post(arguments[0], "/v1/clouds/aks/command", {"words": arguments[1:]})
    except HelperError as error:
        sys.stderr.write(f"ERROR: {error}\n")
        return 1
    json.dump(told["printed"], sys.stdout)
    return 0
