"""What NVIDIA's own driver looks for on a machine: libraries, devices, PCI topology, over the NVML stand-in.

What it takes to publish, and what more to prepare GPUs and partitions, was tried with 0.4.1 and 0.5.0.
MPS and passthrough cannot be prepared: they take a daemon of NVIDIA's, or real PCI devices.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.nvidia.simulation import binaries
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.nvml_machine import machine_text, write_sysfs
from dra_fleet.rehearsal.drivers.node_side import Outfit

if TYPE_CHECKING:
    from dra_fleet.rehearsal.world.node import Host

MAJOR: Final = 195
"""Of the character devices of GPUs: https://www.kernel.org/doc/Documentation/admin-guide/devices.txt"""
CONTROL: Final = {"nvidiactl": 255, "nvidia-modeset": 254}
PROC: Final = Path("/proc/driver")
"""Below it the driver looks for the capabilities of partitions, wherever its root is."""
DEVICES: Final = f"""Character devices:
{MAJOR} nvidia-frontend
235 nvidia-caps

Block devices:
"""
"""As in /proc/devices; the number of nvidia-caps is the kernel's to choose."""


def outfit(host: Host, directory: Path) -> Outfit:
    """Make a machine's driver root below a directory; nothing where the machine has no GPU driver.

    Args:
        host: the machine.
        directory: the node's own.

    Returns:
        What shows it to the driver.
    """
    found = parts_of(host)
    if found.nvidia is None:
        return Outfit()
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
    devices = [root / "dev" / name for name, minor in minors.items() if not _made(root / "dev" / name, minor)]
    proc, numbers = directory / "proc", directory / "devices"
    capabilities = proc / "nvidia" / "capabilities"
    capabilities.mkdir(parents=True, exist_ok=True)
    numbers.write_text(DEVICES)
    is_vgpu = host.machine is not None and host.machine.gpu_fraction is not None
    machine = directory / "nvml-machine"
    machine.write_text(machine_text(found.gpus, found.nvidia, is_vgpu=is_vgpu))
    write_sysfs(found.gpus, directory / "sys")
    variables = {
        "DRIVER_ROOT_CTR_PATH": str(root),
        "NVIDIA_CDI_HOOK_PATH": "/usr/bin/nvidia-cdi-hook",
        "NVIDIA_DRA_SYSFS_ROOT": str(directory / "sys"),
        "ALT_PROC_DEVICES_PATH": str(numbers),
        "NVML_STANDIN": str(machine),
        "NVML_STANDIN_CAPABILITIES": str(capabilities),
    }
    return Outfit(variables=variables, mounts={PROC: proc} | dict.fromkeys(devices, Path(os.devnull)))


def _made(path: Path, minor: int) -> bool:
    """Make a character device; a file to show one at where this user may make none."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(MAJOR, minor))
    except PermissionError:
        path.touch()
        return False
    return True
