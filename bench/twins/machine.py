"""Machine of a measurement: without it seconds mean nothing."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import psutil


def describe() -> str:
    """CPUs, memory, kernel, Python, and the load of the last minute."""
    cores, memory = len(psutil.Process().cpu_affinity() or ()), psutil.virtual_memory().total / 2**30
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    return ", ".join(
        (
            f"{cores} cores ({models[0] if models else platform.machine()})",
            f"{memory:.0f} GiB",
            f"{platform.system()} {platform.release()}",
            f"Python {platform.python_version()}",
            f"load {os.getloadavg()[0]:.1f} at the start",
        )
    )
