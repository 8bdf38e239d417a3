"""What NVIDIA's own driver looks for on a machine: libraries, devices, PCI topology, over the NVML stand-in.

What it takes to publish, and what more to prepare a GPU, was tried with versions 0.4.1 and 0.5.0. Partitions
and MPS cannot be prepared: their driver reads constant paths below /proc and /templates.
"""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.drivers.nvidia import binaries
from dra_fleet.rehearsal.drivers.nvidia.hardware import parts_of
from dra_fleet.rehearsal.drivers.nvidia.nvml_machine import machine_text, write_sysfs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.rehearsal.world.node import Host

MAJOR: Final = 195
"""Of the character devices of GPUs: https://www.kernel.org/doc/Documentation/admin-guide/devices.txt"""
CONTROL: Final = {"nvidiactl": 255, "nvidia-modeset": 254}


def outfit(host: Host, directory: Path) -> Mapping[str, str]:
    """Make a machine's driver root below a directory; nothing where the machine has no GPU driver.

    Args:
        host: the machine.
        directory: the node's own.

    Returns:
        The variables that show it to the driver.
    """
    found = parts_of(host)
    if found.nvidia is None:
        return {}
    root, version = directory / "root", found.nvidia.driver_version
    for place in (root, directory / "sys"):
        shutil.rmtree(place, ignore_errors=True)
    for place in ("usr/lib64", "usr/bin", "dev"):
        (root / place).mkdir(parents=True)
    libraries = (binaries.LIBRARY, f"libnvidia-ml.so.{version}", f"libcuda.so.{version}")
    for library in libraries:
        shutil.copy(binaries.nvml_standin(), root / "usr/lib64" / library)
    smi = root / "usr/bin/nvidia-smi"
    smi.write_text("#!/bin/sh\n")
    smi.chmod(0o755)
    minors = {f"nvidia{gpu.minor}": gpu.minor for gpu in found.gpus} | CONTROL
    for name, minor in minors.items():
        _device(root / "dev" / name, minor)
    is_vgpu = host.machine is not None and host.machine.gpu_fraction is not None
    machine = directory / "nvml-machine"
    machine.write_text(machine_text(found.gpus, found.nvidia, is_vgpu=is_vgpu))
    write_sysfs(found.gpus, directory / "sys")
    return {
        "DRIVER_ROOT_CTR_PATH": str(root),
        "NVIDIA_CDI_HOOK_PATH": "/usr/bin/nvidia-cdi-hook",
        "NVIDIA_DRA_SYSFS_ROOT": str(directory / "sys"),
        "NVML_STANDIN": str(machine),
    }


def _device(path: Path, minor: int) -> None:
    """Make a character device where this user may; else the driver says what it misses when it prepares."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(MAJOR, minor))
    except PermissionError:
        return
