"""NVIDIA's own driver, built from its Go modules, and the NVML stand-in that it runs over without a GPU.

Nothing of this is built unless it is asked for.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.tools.cache import Cache, ToolsError
from dra_fleet.rehearsal.tools.go import GoToolchain, build_environment, c_compiler
from dra_fleet.rehearsal.tools.recipes import Recipe, pinned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.reporting import Reporter

FOLDER: Final = Path(__file__).resolve().parent
MODULES: Final = FOLDER / "modules"
"""The Go modules that pin the driver, one directory per version of its chart."""
DRIVER: Final = "sigs.k8s.io/dra-driver-nvidia-gpu"
NVML: Final = "github.com/NVIDIA/go-nvml"
SOURCE: Final = FOLDER / "nvml_standin.c"
LIBRARY: Final = "libnvidia-ml.so.1"


def versions() -> tuple[str, ...]:
    """The chart versions whose driver can be built, oldest first."""
    return tuple(sorted(folder.name for folder in MODULES.iterdir() if (folder / "go.mod").is_file()))


def recipe(version: str) -> Recipe:
    """How the driver's gpu-kubelet-plugin of a chart version is built.

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


def recipes() -> Mapping[str, Recipe]:
    """How the driver of each chart version that is pinned is built."""
    return {version: recipe(version) for version in versions()}


def gpu_plugin(version: str, reporter: Reporter | None = None) -> Path:
    """The driver's gpu-kubelet-plugin of a chart version, built when first asked for.

    Raises:
        ToolsError: it cannot be built.
    """
    return GoToolchain.find().build(recipe(version), Cache.default(), reporter or Silent())


def nvml_standin() -> Path:
    """The library that the driver loads in place of NVIDIA's, built when first asked for.

    Raises:
        ToolsError: it cannot be built.
    """
    module = MODULES / versions()[-1]
    digest = hashlib.sha256(SOURCE.read_bytes() + pinned(module, NVML).encode()).hexdigest()[:16]
    cache, entry = Cache.default(), f"nvml-standin-{digest}"

    def fill(directory: Path) -> None:
        asked = [str(GoToolchain.find().program), "mod", "download", "-json", NVML]
        header = Path(json.loads(_ran(asked, module))["Dir"]) / "pkg" / "nvml"
        compiler = c_compiler("the NVML stand-in")
        options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{header}"]
        _ran([compiler, *options, "-o", str(directory / LIBRARY), str(SOURCE)], module)

    return cache.make(entry, fill, lambda: None) / LIBRARY


def _ran(command: list[str], directory: Path) -> str:
    done = subprocess.run(
        command, cwd=directory, env=build_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ToolsError(f"the NVML stand-in could not be built: {command[0]}: {done.stderr.strip()}")
    return done.stdout
