"""Kills at random moments: the next run ends with the same objects as an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import psutil
import pytest

from tests.engine.rehearsed import LONGEST
from tests.faults.fault_lab import STEPS, ended

if TYPE_CHECKING:
    import subprocess

    from tests.faults.fault_lab import FaultLab

KILLS: Final = 60
LATEST: Final = {"up": 14.0, "update": 14.0, "destroy": 12.0}
"""Seconds that a step takes on a machine without other work."""
SEED: Final = int(os.environ.get("DRA_FLEET_KILLS_SEED", "1"))


@pytest.mark.engine
@pytest.mark.full
@pytest.mark.parametrize("number", range(KILLS))
def test_a_kill_at_a_random_moment_ends_like_an_undisturbed_run(lab: FaultLab, number: int) -> None:
    chance = random.Random(f"{SEED}/{number}")
    step = STEPS[number % len(STEPS)]
    moment, everything = chance.uniform(0, LATEST[step]), chance.random() < 0.5
    lab.begin(step)

    started = lab.launch()
    time.sleep(moment)
    if everything:
        kill_all(lab, started)
    else:
        for process in lab.engine_processes():
            with suppress(psutil.NoSuchProcess):
                if process.name() == "pulumi":
                    process.kill()
    ended(started)
    lab.complete()

    about = f"seed {SEED}/{number}: {step} killed after {moment:.2f} s, {'all' if everything else 'engine'}"
    assert lab.snapshot() == lab.undisturbed[lab.target], about
    assert [process.cmdline() for process in lab.engine_processes()] == [], about
    assert lab.secrets_in_logs() == [], about


def kill_all(lab: FaultLab, started: subprocess.Popen[bytes]) -> None:
    """Kill the command first, so that it starts no other process, then all that it started until now."""
    with suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    while found := lab.engine_processes():
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(found, timeout=LONGEST)
