"""Put the published plugin or its stand-in where the engine looks for it."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Final

from dra_fleet.places import ROOT
from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.clouds.simulation import simulation_of
from dra_fleet.rehearsal.providers import clouds, kubernetes

_STAND_IN_MARK: Final = "stand-in"
LAUNCHER: Final = Path(__file__).with_name("plugin_launcher.py")
SOCKET: Final = "forks.sock"
"""In the engine's home: where the launcher looks for a server, see `fork_server.py`."""


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A resource plugin that has a stand-in: its package and version, the stand-in's module and arguments."""

    name: str
    version: str
    module: str
    arguments: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        """Its directory below `plugins`."""
        return f"resource-{self.name}-v{self.version}"

    @property
    def executable(self) -> str:
        """The program in the directory."""
        return f"pulumi-resource-{self.name}"


KUBERNETES: Final = Plugin(name=kubernetes.NAME, version=kubernetes.VERSION, module=kubernetes.__name__)


def cloud_plugin(cloud: str) -> Plugin:
    """The plugin of a simulated cloud, by the cloud's name in stack files."""
    plugin = simulation_of(cloud).plugin
    return Plugin(name=plugin.name, version=plugin.version, module=clouds.__name__, arguments=(cloud,))


def install(
    pulumi_home: Path, python: Path, plugin: Plugin = KUBERNETES, *, published: Path | None = None
) -> None:
    """Install a plugin or its stand-in, under the exact version programs ask for.

    Atomic and idempotent; safe when two runs do it at once. Replaces an older stand-in, never the published
    plugin.

    Args:
        pulumi_home: the engine's PULUMI_HOME.
        python: the interpreter whose environment has this project's requirements.
        plugin: which one.
        published: the published plugin's program; None for the stand-in.

    Raises:
        OSError: the directory cannot be written.
    """
    plugins = pulumi_home / "plugins"
    target = plugins / plugin.directory
    script = _script(python, plugin, pulumi_home / SOCKET)
    if _is_published(target):
        return
    present = target / plugin.executable
    if not published and present.is_file() and present.read_text() == script:
        return
    plugins.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=plugins))
    made.chmod(0o755)
    if published:
        shutil.copyfile(published, made / plugin.executable)
    else:
        (made / _STAND_IN_MARK).touch()
        (made / plugin.executable).write_text(script)
    (made / plugin.executable).chmod(0o755)
    _exchange(made, target)


def _script(python: Path, plugin: Plugin, listening: Path) -> str:
    launcher = (python.absolute(), "-I", "-S", LAUNCHER, ROOT, listening, plugin.module, *plugin.arguments)
    return (
        "#!/bin/sh\n"
        f"# Stands in for the published plugin {plugin.name} {plugin.version}.\n"
        f'exec {shlex.join(map(str, launcher))} "$@"\n'
    )


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


def kubernetes_served_by(pulumi_home: Path) -> str:
    """Which Kubernetes plugin an engine home has: `published` or `stand-in`."""
    return "published" if _is_published(pulumi_home / "plugins" / KUBERNETES.directory) else "stand-in"


def _is_published(directory: Path) -> bool:
    return directory.exists() and not (directory / _STAND_IN_MARK).exists()
