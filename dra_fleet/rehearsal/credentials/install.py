"""Puts the simulated credential helpers into a home's bin directory."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.core.places import ROOT
from dra_fleet.rehearsal.clouds.simulation import simulation_of
from dra_fleet.rehearsal.credentials import account_command, dra_fleet_token
from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.rehearsal.home import Home


def install_helpers(home: Home) -> None:
    """Write the helper of the rehearsal's own kubeconfig, and those of all clouds of this program.

    Also of clouds that a stack does not name: else a kubeconfig of theirs would call the real helper, which
    finds its user's real login.
    """
    install_helper(home, dra_fleet_token.NAME, dra_fleet_token)
    for name in clouds.BUILT_IN:
        install_helper_of(home, name)


def install_helper_of(home: Home, cloud: str) -> None:
    """Write the helper that kubeconfigs of a cloud call, and its command line, where it has them.

    Raises:
        InvalidRequestError: no one has written the cloud's simulation.
    """
    command = clouds.named(cloud).credential_helper
    if command:
        install_helper(home, command, simulation_of(cloud).helper_module())
    asked_by = clouds.named(cloud).command_line
    if asked_by not in {"", command}:
        install_helper(home, asked_by, account_command, cloud)


def install_helper(home: Home, command: str, helper: ModuleType, *first: str) -> None:
    """Write the command of a helper for this home.

    It runs without site packages and environment, which makes it start three times as fast.

    Args:
        home: where the simulator's socket is.
        command: its name.
        helper: its `main` takes the socket and the command's arguments. It may import the standard library
            and `dra_fleet.rehearsal.credentials`.
        first: what it gets between the socket and the command's arguments.
    """
    words = [sys.executable, "-I", "-S", "-c", _program(helper), str(home.socket), *first]
    script = f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
    path = home.bin / command
    if not path.exists() or path.read_text() != script:
        write_private(path, script, mode=0o755)


def _program(helper: ModuleType) -> str:
    """Run the helper by its file: the package around it may need more than a helper has."""
    run = f"runpy.run_path({str(Path(str(helper.__file__)).resolve())!r})['main'](sys.argv[1:])"
    return f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); sys.exit({run})"
