"""Installs the official Pulumi CLI: `python -m dra_fleet.rehearsal.tools.official_pulumi DIRECTORY VERSION`.

A program of its own, because the Automation API's installer knows no time limit.
"""

from __future__ import annotations

import socket
import subprocess
import sys

from pulumi.automation import PulumiCommand
from semver import VersionInfo

ANSWER_SECONDS = 5.0
"""How long the network may take to answer at all."""


def main(directory: str, version: str) -> int:
    """Install with the Automation API: https://www.pulumi.com/docs/iac/automation-api/."""
    socket.setdefaulttimeout(ANSWER_SECONDS)
    try:
        PulumiCommand.install(root=directory, version=VersionInfo.parse(version))
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
