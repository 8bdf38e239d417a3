"""Starts the policy pack; the engine runs this folder, or `run-pack` this file."""

import faulthandler
import gc
import os
import sys

# The folder is started with the checked program's variables, of which PYTHONPATH would come
# first.
if not sys.flags.isolated:
    cleaned = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    os.execve(sys.executable, [sys.executable, "-I", "-u", __file__, *sys.argv[1:]], cleaned)  # noqa: S606 - no shell

faulthandler.dump_traceback_later(120, exit=True)  # a start that hangs; serving sets its own limits
gc.disable()  # until all is imported, of which nothing is garbage

from dra_fleet.core.findings.bare_sdk import use_protocol_only  # noqa: E402 - imported without the collector

use_protocol_only()

if sys.argv[1:2] == ["--answer"]:
    from dra_fleet.policy.gate.apart import answer

    answer()

from dra_fleet.policy.serving import start  # noqa: E402 - the line above decides what it imports

start()
