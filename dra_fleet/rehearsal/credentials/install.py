"""Puts the stand-in credential helpers into a home's bin directory."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.rehearsal.clouds.aks import kubelogin
from dra_fleet.rehearsal.clouds.eks import aws
from dra_fleet.rehearsal.clouds.gke import gke_gcloud_auth_plugin
from dra_fleet.rehearsal.credentials import dra_fleet_token
from dra_fleet.rehearsal.world.files import write_private

if TYPE_CHECKING:
    from dra_fleet.rehearsal.home import Home


def install_helpers(home: Home) -> None:
    """Write all credential helpers for this home.

    They run without site packages and environment, which makes them start three times as fast.
    """
    for helper in (dra_fleet_token, kubelogin, gke_gcloud_auth_plugin, aws):
        _install(home, Path(str(helper.__file__)), helper.NAME)


def _install(home: Home, program: Path, name: str) -> None:
    words = [sys.executable, "-I", "-S", str(program.resolve()), str(home.socket)]
    script = f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
    path = home.bin / name
    if not path.exists() or path.read_text() != script:
        write_private(path, script, mode=0o755)
