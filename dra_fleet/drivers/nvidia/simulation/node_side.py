"""NVIDIA's driver, its installers, the GPU Operator and ComputeDomains on simulated machines."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.drivers.nvidia.devices import GRACE, place
from dra_fleet.drivers.nvidia.simulation import machine
from dra_fleet.drivers.nvidia.simulation.compute_domain import ComputeDomainPlugin
from dra_fleet.drivers.nvidia.simulation.compute_domains import ComputeDomainParts, crash_of
from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaNode, parts_of
from dra_fleet.drivers.nvidia.simulation.machine import installer_problem, is_installer
from dra_fleet.drivers.nvidia.simulation.operator.daemons import Daemons
from dra_fleet.drivers.nvidia.simulation.operator.labels import CLUSTER_WIDE, role_of
from dra_fleet.drivers.nvidia.simulation.plugin import NvidiaGpuPlugin, prestart_problem
from dra_fleet.drivers.nvidia.simulation.webhook import Webhooks
from dra_fleet.rehearsal.agent.driver_pod import Start
from dra_fleet.rehearsal.drivers.node_side import NodeSide, Outfit, OwnProgram, Reach
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.tools.cache import Cache, ToolsError
from dra_fleet.rehearsal.tools.go import GoToolchain, build_environment, c_compiler
from dra_fleet.rehearsal.tools.recipes import Recipe, pinned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.drivers.nvidia.devices import GpuOnHost
    from dra_fleet.drivers.nvidia.facts import GpuModel, MigFacts, MigProfile
    from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaOnHost
    from dra_fleet.rehearsal.reporting import Reporter
    from dra_fleet.rehearsal.simulator.node import Host


# NVIDIA's own driver, built from its Go modules, and the simulated NVML that it runs over without a GPU.
#
# Nothing of this is built unless it is asked for.

FOLDER: Final = Path(__file__).resolve().parent

MODULES: Final = FOLDER / "modules"
"""The Go modules that pin the driver, one directory per version of its chart."""

DRIVER: Final = "sigs.k8s.io/dra-driver-nvidia-gpu"

NVML: Final = "github.com/NVIDIA/go-nvml"

SOURCE: Final = FOLDER / "nvml_standin.c"

LIBRARY: Final = "libnvidia-ml.so.1"


def recipes() -> Mapping[str, Recipe]:
    """Return the build of the driver for each pinned chart version."""
    return {version: recipe(version) for version in versions()}


def nvml_simulated() -> Path:
    """Return the library that the driver loads instead of NVIDIA's, built at first use.

    Raises:
        ToolsError: it cannot be built.
    """
    module = MODULES / versions()[-1]
    digest = hashlib.sha256(SOURCE.read_bytes() + pinned(module, NVML).encode()).hexdigest()[:16]
    cache, entry = Cache.default(), f"nvml-standin-{digest}"

    def fill(directory: Path) -> None:
        asked = [str(GoToolchain.find().program), "mod", "download", "-json", NVML]
        header = Path(json.loads(_ran(asked, module))["Dir"]) / "pkg" / "nvml"
        compiler = c_compiler("the simulated NVML")
        options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{header}"]
        _ran([compiler, *options, "-o", str(directory / LIBRARY), str(SOURCE)], module)

    return cache.make(entry, fill, lambda: None) / LIBRARY


MAJOR: Final = 195
"""Major number of GPU character devices: https://www.kernel.org/doc/Documentation/admin-guide/devices.txt"""

CONTROL: Final = {"nvidiactl": 255, "nvidia-modeset": 254}

PROC: Final = Path("/proc/driver")
"""Below it the driver looks for the capabilities of partitions, wherever its root is."""

DEVICES: Final = f"""Character devices:
{MAJOR} nvidia-frontend
235 nvidia-caps

Block devices:
"""
"""Content of /proc/devices; the kernel chooses the number of nvidia-caps."""


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
    for folder in (root, directory / "sys"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in ("usr/lib64", "usr/bin", "dev"):
        (root / folder).mkdir(parents=True)
    libraries = (LIBRARY, f"libnvidia-ml.so.{version}", f"libcuda.so.{version}")
    for library in libraries:
        shutil.copy(nvml_simulated(), root / "usr/lib64" / library)
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


ARCHITECTURES: Final = {"Volta": 5, "Turing": 6, "Ampere": 7, "Ada Lovelace": 8, "Hopper": 9, "Blackwell": 10}
"""NVML_DEVICE_ARCH_* by the name that go-nvlib gives them."""

BRANDS: Final = {"Tesla": 2, "NvidiaVWS": 10, "Nvidia": 14}
"""NVML_BRAND_* by the name that go-nvlib gives them."""

ATS, HMM = 2, 1
"""NVML_DEVICE_ADDRESSING_MODE_*."""

PROFILES: Final = {
    "1": 0,
    "2": 1,
    "3": 2,
    "4": 3,
    "7": 4,
    "8": 5,
    "6": 6,
    "1+me": 7,
    "2+me": 8,
    "1+gfx": 10,
    "2+gfx": 11,
    "4+gfx": 12,
    "1-me": 13,
    "2-me": 14,
    "1+me.all": 15,
    "2+me.all": 16,
}
"""NVML_GPU_INSTANCE_PROFILE_* by the slices and the extension of a profile's name."""

WIDE: Final = 9
"""NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2: one compute slice with twice the memory."""

UNTOLD_PROFILE: Final = 64
"""The first number for profiles whose ids are not public."""


class NvidiaProgram(OwnProgram):
    """NVIDIA's gpu-kubelet-plugin, built from its module and run over a simulated NVML."""

    plugin = NvidiaGpuPlugin

    @override
    def recipes(self) -> Mapping[str, Recipe]:
        return recipes()

    @override
    def prepare(self) -> None:
        nvml_simulated()

    @override
    def outfit(self, host: Host, directory: Path) -> Outfit:
        return outfit(host, directory)


class NvidiaNodes(NodeSide):
    """NVIDIA's driver, its installers, the GPU Operator and ComputeDomains on simulated machines."""

    plugins = (NvidiaGpuPlugin, ComputeDomainPlugin)
    programs = (Daemons, ComputeDomainParts, Webhooks)
    node_model = NvidiaNode
    own = NvidiaProgram()

    @override
    def waits_for(self, container: Object, host: Host) -> str | None:
        return prestart_problem(container, host)

    @override
    def start_problem(self, pod: Object, host: Host) -> Start | None:
        if (problem := installer_problem(pod, host)) is not None:
            return Start(waiting=problem)
        if (crash := crash_of(pod)) is not None:
            return Start(failed={pod["spec"]["containers"][0]["name"]: crash})
        return None

    @override
    def reach(self, pod: Object) -> Reach | None:
        role = role_of(pod)
        if role in CLUSTER_WIDE:
            return Reach.CLUSTER
        return Reach.NODE if role is not None or is_installer(pod) else None

    @override
    def installed(self, host: Host, pods: Sequence[Object], remembered: str) -> Host:
        return machine.installed(host, pods, remembered)

    @override
    def with_pods(self, host: Host, pods: Sequence[Object]) -> Host:
        return machine.with_pods(host, pods)

    @override
    def resources(self, host: Host, pods: Sequence[Object], capacity: Mapping[str, str]) -> Mapping[str, str]:
        return machine.resources(host, pods, capacity)


NODE_SIDE: Final = NvidiaNodes()


def _made(path: Path, minor: int) -> bool:
    """Make a character device; a file to show one at where this user may make none."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(MAJOR, minor))
    except PermissionError:
        path.touch()
        return False
    return True


def machine_text(gpus: tuple[GpuOnHost, ...], host: NvidiaOnHost, *, is_vgpu: bool) -> str:
    """Return the simulated library's file.

    Args:
        gpus: GPUs of the machine, each with its partitions.
        host: the driver on the machine.
        is_vgpu: True if its GPU is a vGPU.
    """
    major, minor = host.cuda_version.split(".")
    lines = [f"driver {host.driver_version}", f"cuda {int(major) * 1000 + int(minor) * 10}"]
    for gpu in gpus:
        lines += [_gpu(gpu, is_vgpu=is_vgpu), *_profiles(gpu.model), *_partitions(gpu)]
    return "\n".join(lines) + "\n"


def write_sysfs(gpus: tuple[GpuOnHost, ...], root: Path) -> None:
    """Write what the driver reads below /sys: on which PCIe root and NUMA node each GPU is."""
    links = root / "bus" / "pci" / "devices"
    links.mkdir(parents=True)
    for gpu in gpus:
        if gpu.pci_bus_id is None or gpu.pcie_root is None:
            continue
        device = root / "devices" / gpu.pcie_root / gpu.pci_bus_id
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{-1 if gpu.numa_node is None else gpu.numa_node}\n")
        (links / gpu.pci_bus_id).symlink_to(f"../../../devices/{gpu.pcie_root}/{gpu.pci_bus_id}")


def _gpu(gpu: GpuOnHost, *, is_vgpu: bool) -> str:
    model = gpu.model
    major, minor = model.compute_capability.split(".")
    fields: list[object] = [
        gpu.minor,
        gpu.uuid,
        gpu.pci_bus_id or f"0000:{gpu.minor + 1:02x}:00.0",
        ARCHITECTURES[model.architecture],
        major,
        minor,
        BRANDS[model.brand or "Nvidia"],
        _memory(model),
        int(model.mig is not None),
        int(gpu.mig is not None),
        ATS if model.name.startswith(GRACE) else HMM,
        int(is_vgpu),
        gpu.minor + 1,
        model.product_name or f"NVIDIA {model.name}",
    ]
    return " ".join(["gpu", *map(str, fields)])


def _memory(model: GpuModel) -> int:
    return model.memory_mib if model.memory_mib is not None else model.nominal_gb * 1024


def _profiles(model: GpuModel) -> Iterator[str]:
    if model.mig is None:
        return
    for number, profile in enumerate(model.mig.profiles):
        starts = profile.placements or range(0, model.mig.memory_slices, profile.memory_slices)
        fields: list[object] = [
            profile_index(profile),
            _profile_id(profile, number),
            profile.compute_slices,
            _figure(profile.multiprocessors, profile),
            _figure(profile.copy_engines, profile),
            _figure(profile.decoders, profile),
            _figure(profile.encoders, profile),
            _figure(profile.jpeg_engines, profile),
            _figure(profile.ofa_engines, profile),
            _partition_memory(model, model.mig, profile),
            profile.memory_slices,
            ",".join(map(str, starts)),
        ]
        yield " ".join(["profile", *map(str, fields)])


def profile_index(profile: MigProfile) -> int:
    """Return the number with which NVML's callers request a profile."""
    slices, extension = re.findall(r"^(\d+)g\.\d+gb(.*)$", profile.name)[0]
    is_wide = slices == "1" and not extension and profile.memory_slices > profile.compute_slices
    return WIDE if is_wide else PROFILES[slices + extension]


def _profile_id(profile: MigProfile, number: int) -> int:
    return profile.gi_profile if profile.gi_profile is not None else UNTOLD_PROFILE + number


def _figure(reported: int | None, profile: MigProfile) -> int:
    return profile.compute_slices if reported is None else reported


def _partition_memory(model: GpuModel, mig: MigFacts, profile: MigProfile) -> int:
    """Return the memory that a partition reports; an invented figure is below its share, as real ones are."""
    if profile.memory_mib is not None:
        return profile.memory_mib
    return _memory(model) * profile.memory_slices // mig.memory_slices - 64


def _partitions(gpu: GpuOnHost) -> Iterator[str]:
    if gpu.model.mig is None:
        return
    profiles = gpu.model.mig.profiles
    for placement in place(gpu.model, gpu.mig or ()):
        number = _profile_id(placement.profile, profiles.index(placement.profile))
        yield f"mig {number} {placement.start}"


def versions() -> tuple[str, ...]:
    """Return the chart versions whose driver can be built, oldest first."""
    return tuple(sorted(folder.name for folder in MODULES.iterdir() if (folder / "go.mod").is_file()))


def recipe(version: str) -> Recipe:
    """Return the build of a chart version's gpu-kubelet-plugin.

    Raises:
        ToolsError: no module pins that version.
    """
    if version not in versions():
        raise ToolsError(
            f"NVIDIA's driver {version} cannot be built, for no module of it is pinned here; "
            f"allowed: {', '.join(versions())}"
        )
    return Recipe(
        name="gpu-kubelet-plugin",
        title="NVIDIA's gpu-kubelet-plugin",
        module=MODULES / version,
        package=f"{DRIVER}/cmd/gpu-kubelet-plugin",
        requirement=DRIVER,
        stamp=f"-X {DRIVER}/internal/info.version={{version}}",
        sources=("nvfm/go.mod", "nvfm/pkg/nvfm/*.go"),
        cgo=True,
    )


def gpu_plugin(version: str, reporter: Reporter | None = None) -> Path:
    """Return the gpu-kubelet-plugin of a chart version, built at first use.

    Raises:
        ToolsError: it cannot be built.
    """
    return GoToolchain.find().build(recipe(version), Cache.default(), reporter or Silent())


def _ran(command: list[str], directory: Path) -> str:
    done = subprocess.run(
        command, cwd=directory, env=build_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ToolsError(f"the simulated NVML could not be built: {command[0]}: {done.stderr.strip()}")
    return done.stdout
