"""Install the Kubernetes provider and the simulated clouds' plugins where the engine looks for them."""

from __future__ import annotations

import importlib.metadata
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Final

from msgspec import Struct

from dra_fleet.core.places import ROOT
from dra_fleet.rehearsal.clouds.simulation import simulation_of
from dra_fleet.rehearsal.providers import clouds
from dra_fleet.rehearsal.tools.releases import PROVIDER

_SIMULATED_MARK: Final = "stand-in"


class Plugin(Struct, frozen=True, kw_only=True):
    """The simulated plugin of a cloud: the package and version that it replaces, and the cloud."""

    name: str
    version: str
    cloud: str

    @property
    def directory(self) -> str:
        """Its directory below `plugins`."""
        return f"resource-{self.name}-v{self.version}"

    @property
    def executable(self) -> str:
        """The program in the directory."""
        return f"pulumi-resource-{self.name}"


def cloud_plugin(cloud: str) -> Plugin:
    """Return the plugin of a simulated cloud, by the cloud's name in stack files."""
    plugin = simulation_of(cloud).plugin
    return Plugin(name=plugin.name, version=plugin.version, cloud=cloud)


def install(pulumi_home: Path, python: Path, plugin: Plugin) -> None:
    """Install the simulated plugin of a cloud under the version that programs request.

    The installation is atomic and idempotent. It never replaces a published plugin.

    Args:
        pulumi_home: the engine's PULUMI_HOME.
        python: the interpreter whose environment has this project's requirements.
        plugin: the plugin.

    Raises:
        OSError: the directory cannot be written.
    """
    target = pulumi_home / "plugins" / plugin.directory
    if target.exists() and not (target / _SIMULATED_MARK).exists():
        return
    script = _script(python, plugin)
    present = target / plugin.executable
    if present.is_file() and present.read_text() == script:
        return
    made = _unfinished(target)
    (made / _SIMULATED_MARK).touch()
    (made / plugin.executable).write_text(script)
    (made / plugin.executable).chmod(0o755)
    _exchange(made, target)


def install_kubernetes(pulumi_home: Path, program: Path) -> None:
    """Link the Kubernetes provider under the version of the installed SDK. Atomic and idempotent.

    Args:
        pulumi_home: the engine's PULUMI_HOME.
        program: the provider in the cache of tools.

    Raises:
        OSError: the directory cannot be written.
    """
    version = importlib.metadata.version("pulumi-kubernetes")
    target = pulumi_home / "plugins" / f"resource-kubernetes-v{version}"
    present = target / PROVIDER
    if present.is_symlink() and present.readlink() == program:
        return
    made = _unfinished(target)
    (made / PROVIDER).symlink_to(program)
    _exchange(made, target)


def _script(python: Path, plugin: Plugin) -> str:
    command = (python.absolute(), "-P", "-m", clouds.__name__, plugin.cloud)
    return (
        "#!/bin/sh\n"
        f"# Simulates the published plugin {plugin.name} {plugin.version}.\n"
        f'export PYTHONPATH={shlex.quote(str(ROOT))}"${{PYTHONPATH:+:$PYTHONPATH}}"\n'
        f'exec {shlex.join(map(str, command))} "$@"\n'
    )


def _unfinished(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=target.parent))
    made.chmod(0o755)
    return made


def _exchange(made: Path, target: Path) -> None:
    try:
        made.rename(target)
    except OSError:
        old = Path(tempfile.mkdtemp(prefix=".old-", dir=target.parent))
        try:
            target.rename(old / target.name)
            made.rename(target)
        except OSError:
            if not target.exists():
                raise
            shutil.rmtree(made)  # another run was faster and installed the same
        finally:
            shutil.rmtree(old, ignore_errors=True)
