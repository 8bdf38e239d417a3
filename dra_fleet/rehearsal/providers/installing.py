"""Put a stand-in plugin where the engine looks for the published one, or get the published one."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from dra_fleet.places import ROOT
from dra_fleet.rehearsal.clouds.simulation import simulation_of
from dra_fleet.rehearsal.passed_on import passed_on
from dra_fleet.rehearsal.providers import clouds, kubernetes
from dra_fleet.rehearsal.providers.refusals import refusal, remember_refusal

_STAND_IN_MARK: Final = "stand-in"


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

    @property
    def refused(self) -> str:
        """The file that remembers a refused download."""
        return f"{self.directory}.refused"


KUBERNETES: Final = Plugin(name=kubernetes.NAME, version=kubernetes.VERSION, module=kubernetes.__name__)


class PublishedPlugin(Enum):
    """Where a published plugin stands."""

    INSTALLED = "installed"
    REFUSED = "refused"


def cloud_plugin(cloud: str) -> Plugin:
    """The plugin of a simulated cloud, by the cloud's name in stack files."""
    plugin = simulation_of(cloud).plugin
    return Plugin(name=plugin.name, version=plugin.version, module=clouds.__name__, arguments=(cloud,))


def install(pulumi_home: Path, python: Path, plugin: Plugin = KUBERNETES) -> None:
    """Install the stand-in for a plugin, under the exact version programs ask for.

    Atomic and idempotent; safe when two runs do it at once. Replaces an older stand-in, never the published
    plugin.

    Args:
        pulumi_home: the engine's PULUMI_HOME.
        python: the interpreter whose environment has this project's requirements.
        plugin: which one.

    Raises:
        OSError: the directory cannot be written.
    """
    plugins = pulumi_home / "plugins"
    target = plugins / plugin.directory
    script = _script(python, plugin)
    if _is_published(target):
        return
    if (target / plugin.executable).is_file() and (target / plugin.executable).read_text() == script:
        return
    plugins.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".stand-in-", dir=plugins))
    made.chmod(0o755)
    (made / _STAND_IN_MARK).touch()
    (made / plugin.executable).write_text(script)
    (made / plugin.executable).chmod(0o755)
    _exchange(made, target)


def _script(python: Path, plugin: Plugin) -> str:
    root, interpreter = shlex.quote(str(ROOT)), shlex.quote(str(python.absolute()))
    return (
        "#!/bin/sh\n"
        f"# Stands in for the published plugin {plugin.name} {plugin.version}.\n"
        f"PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {interpreter} -m "
        f'{shlex.join((plugin.module, *plugin.arguments))} "$@"\n'
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


def published_plugin(
    pulumi: Path, pulumi_home: Path, *, plugin: Plugin = KUBERNETES, seconds: float = 60.0
) -> PublishedPlugin:
    """Say whether the published plugin can be had, and install it where it can.

    A refusal is remembered in the home for a day (the file named `*.refused` under `plugins`).

    Args:
        pulumi: the engine's executable.
        pulumi_home: the engine's PULUMI_HOME.
        plugin: which one.
        seconds: how long the download may take.

    Raises:
        OSError: the engine cannot be started, or the home not written.
    """
    plugins = pulumi_home / "plugins"
    if _is_published(plugins / plugin.directory):
        return PublishedPlugin.INSTALLED
    if refusal(plugins / plugin.refused) is not None:
        return PublishedPlugin.REFUSED
    environment = {**passed_on(), "PULUMI_HOME": str(pulumi_home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    command = [str(pulumi), "plugin", "install", "resource", plugin.name, plugin.version, "--non-interactive"]
    if (plugins / plugin.directory).exists():
        command.append("--reinstall")  # the stand-in is there
    try:
        result = subprocess.run(  # an argument list, never a shell
            command, env=environment, check=False, capture_output=True, text=True, timeout=seconds
        )
        reason = result.stderr.strip() or result.stdout.strip()
        succeeded = result.returncode == 0
    except subprocess.TimeoutExpired:
        reason, succeeded = f"no answer within {seconds:g} s", False
    if succeeded and _is_published(plugins / plugin.directory):
        return PublishedPlugin.INSTALLED
    remember_refusal(plugins / plugin.refused, reason)
    return PublishedPlugin.REFUSED


def kubernetes_served_by(pulumi_home: Path) -> str:
    """Which Kubernetes plugin an engine home has: `published` or `stand-in`."""
    return "published" if _is_published(pulumi_home / "plugins" / KUBERNETES.directory) else "stand-in"


def _is_published(directory: Path) -> bool:
    return directory.exists() and not (directory / _STAND_IN_MARK).exists()
